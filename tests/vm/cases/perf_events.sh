# Samples of what the kernel counts: exact counts of faults and switches in traced processes, rates, and events that the machine
# does not have.
. /guest.sh
echo never >/sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null

# A buffer of 4 MiB has 1024 pages, each touched for the first time once; dd itself has some more.
out=$(spile -v -e 'global c, others probe perf.sw.page_faults.sample(1).process { if (pid() == target()) c++; else others++ }
                   probe end { printf("faults %d %d %d\n", c >= 1024, c < 1400, others) }' -c 'exec dd if=/dev/zero of=/dev/null bs=4M count=1 2>/dev/null' 2>&1)
check "page faults" "$out" '^faults 1 1 0$'
check "mechanism" "$out" '^perf.type\(1\).config\(2\).sample\(1\).process: page-faults every 1, of traced threads$'

# The same events, each tenth of them, beside all: a tenth of the hits. Two points of one probe are told apart.
out=$(spile -e 'global c probe perf.type(1).config(2).sample(1).process, perf.type(1).config(2).sample(10).process { if (pid() == target()) c[pp()]++ }
                probe end { all = c["perf.type(1).config(2).sample(1).process"]; tenth = c["perf.type(1).config(2).sample(10).process"]
                            printf("tenth %d %d\n", all > 1000, all - 10 * tenth < 10 && all >= 10 * tenth) }' -c 'exec dd if=/dev/zero of=/dev/null bs=4M count=1 2>/dev/null' 2>&1)
check "each tenth" "$out" '^tenth 1 1$'

# Context switches, beside the scheduler's tracepoint. Over maps, and with a statement that maps can't have over an arena where
# there is one.
for more in '' 'try { error("x") } catch { caught++ }'; do
  [ -n "$more" ] && case $(uname -r) in 6.1.*) continue ;; esac
  out=$(spile -e "global n, traced, caught probe perf.sw.context_switches.sample(1).process { if (pid() == target()) n++; $more }
    probe kernel.trace(\"sched:sched_switch\") { if (pid() == target() && n > 0) traced++ }
    probe end { printf(\"switches %d %d\\n\", n > 20, n - traced <= 2 && traced - n <= 2) }" -c 'i=0; while [ $i -lt 25 ]; do sleep 0.01; i=$((i+1)); done' 2>&1)
  check "context switches" "$out" '^switches 1 1$'
done

# Of all processes, threads and children alone, and a program alone.
out=$(spile -e 'global all, mine, shells, dds probe perf.sw.page_faults.sample(1) { all++ } probe perf.sw.page_faults.sample(1).process { mine++ }
                probe perf.sw.page_faults.sample(1).process("/bin/calls_static") { if (execname() == "calls_static") dds++; else shells++ }
                probe end { printf("programs %d %d %d\n", all >= mine && mine > dds, dds > 10, shells) }' -c 'sh -c "true; calls_static 10; true"' 2>&1)
check "programs" "$out" '^programs 1 1 0$'

# So many samples a second of a clock, and after so many nanoseconds.
out=$(spile -e 'global rate, every probe perf.sw.task_clock.hz(200).process { rate++ } probe perf.sw.task_clock.sample(5000000).process { every++ }
                probe end { printf("clocks %d %d\n", rate > 5, rate - every < every && every - rate < every) }' -c 'calls_static 30000000' 2>&1)
check "clocks" "$out" '^clocks 1 1$'

# The emulated processor counts nothing.
for point in perf.hw.cpu_cycles 'perfcounter("tlbmiss").count(4000)' perf.hw.instructions.process; do
  out=$(spile -e "probe $point { next }" -c true 2>&1) && fail "$point was attached"
  check "no counters" "$out" "can't be counted here: "
  check "no counters" "$out" 'hint: the processor.s counters are missing, as in most virtual machines'
done
out=$(spile -e 'probe perf.type(1).config(99) { next }' 2>&1) && fail "an unknown event was attached"
check "unknown event" "$out" 'event 0x63 of type 1 is not known to this kernel'
out=$(spile -e 'probe perf.sw.cpu_clock.hz(100000000) { next }' 2>&1) && fail "an impossible rate was attached"
check "rate" "$out" 'perf_event_max_sample_rate'
