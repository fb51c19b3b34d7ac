# process.begin, .end, .thread and .syscall of all processes, without -x and -c: counts equal what the shell and the program do.
. /guest.sh

ln -sf /bin/busybox /tmp/true
cat >/tmp/work.sh <<'TEXT'
i=0; while [ $i -lt 20 ]; do /tmp/true; i=$((i + 1)); done
i=0; while [ $i -lt 10 ]; do (:); i=$((i + 1)); done
calls_static 100 7
TEXT
# Timers start when the probes are in.
trace() { spile -v "$@" 2>&1; }

# The first thread may end before the last of the others has: what it joins is awake a little earlier. Every one of 20 commands is
# a fork and an exec, each of 10 subshells a fork; one program has 7 more threads.
out=$(trace -e 'global begins, ends, births, deaths, names, started, ended
  probe process.begin { begins[execname()] <<< 1; names[pn()] <<< 1 }
  probe process.end { ends[execname()] <<< 1 }
  probe process.thread.begin { if (pid() == tid()) error("a first thread"); births[execname()] <<< 1 }
  probe process.thread.end { deaths[execname()] <<< 1 }
  probe timer.ms(50) { if (!started++) system("sh /tmp/work.sh >/dev/null"); if (ended && ended++ > 5) exit() }
  probe kernel.trace("sched:sched_process_exit") { if (execname() == "calls_static" && pid() == tid()) ended = 1 }
  probe end { printf("begins %d %d %d\n", @count(begins["true"]), @count(begins["calls_static"]), @count(begins["sh"]) >= 30 && @count(names["process.begin"]) > 30)
    printf("ends %d %d %d\n", @count(ends["true"]), @count(births["calls_static"]), @count(deaths["calls_static"])) }')
check "mechanisms" "$out" '^process.thread.begin: raw tracepoint raw_syscalls:sys_exit$'
check "begins" "$out" '^begins 20 1 1$'
check "ends, and threads" "$out" '^ends 40 7 7$'

# System calls: exact, with arguments and results.
cat >/tmp/reads.sh <<'TEXT'
dd if=/dev/zero of=/dev/null bs=3 count=4000 2>/dev/null
TEXT
out=$(spile -e 'global calls, results, wrong, started
  probe process.syscall { if (execname() == "dd" && $arg3 == 3) { calls[$syscall] <<< 1; if (pp() != "process.syscall") wrong++ } }
  probe process.syscall.return { if (execname() == "dd" && $return == 3 && $syscall < 2) results[$syscall] <<< 1 }
  probe timer.ms(50) { if (!started++) system("sh /tmp/reads.sh") } probe process.end { if (execname() == "dd") exit() }
  probe end { printf("%d %d %d %d %d\n", @count(calls[0]), @count(calls[1]), @count(results[0]), @count(results[1]), wrong) }' 2>&1)
check "system calls" "$out" '^4000 4000 400[0-9] 4000 0$'

# One process alone.
sleep 30 &
other=$!
out=$(spile -e "global n, others, started probe process($other).syscall, process($other).end { n++; if (pid() != $other) others++ } probe timer.ms(50) { if (!started++) system(\"kill $other\") } probe process($other).end { exit() }
  probe end { printf(\"%d %d\\n\", n >= 1, others) }" 2>&1)
check "one process" "$out" '^1 0$'

# One program, a file: also a process that is older than spile; a program that is left by an exec has ended.
cp /bin/busybox /tmp/mine
mkdir /tmp/m
ln -sf /tmp/mine /tmp/m/sh
ln -sf /tmp/mine /tmp/m/sleep
/tmp/m/sleep 60 &
old=$!
cat >/tmp/lives.sh <<'TEXT'
i=0; while [ $i -lt 10 ]; do /tmp/m/sleep 0; i=$((i + 1)); done
sh -c 'exec /bin/true'
/tmp/m/sh -c 'exec /bin/true'
calls_static 100 7
TEXT
out=$(trace -e "global n, started
  probe process(\"/tmp/mine\").begin { n[\"begin\"]++ } probe process(\"/tmp/mine\").end { n[\"end\"]++; if (pid() == $old) n[\"old\"]++ }
  probe process(\"/bin/calls_static\").thread.begin { n[\"births\"]++ } probe process(\"/bin/calls_static\").thread.end { n[\"deaths\"]++ }
  probe process(\"/tmp/mine\").syscall { if (execname() != \"sleep\" && execname() != \"sh\") n[\"others\"]++; calls <<< 1 } global calls
  probe timer.ms(50) { if (!started++) system(\"sh /tmp/lives.sh >/dev/null; kill $old\") } probe process(\"/tmp/mine\").end { if (pid() == $old) exit() }
  probe end { printf(\"lives %d %d %d, threads %d %d, calls %d %d\\n\", n[\"begin\"], n[\"end\"], n[\"old\"], n[\"births\"], n[\"deaths\"], @count(calls) > 100, n[\"others\"]) }")
check "one program" "$out" '^lives 11 12 1, threads 7 7, calls 1 0$'
