# Begin, end and timer probes, which run in spile, read the kernel's memory on this kernel: tasks, variables, what a probe in the
# kernel kept.
# seconds: 120
. /guest.sh
out=$(spile -e 'probe begin { printf("%s %d %d|", task_execname(task_current()), task_tid(task_current()) == tid(), task_current()->tgid == pid()); exit() }
  probe end { printf("%d %s", task_pid(pid2task(1)), task_execname(pid2task(2))) }' 2>/tmp/err) || fail "tasks: $(cat /tmp/err)"
check "tasks" "$out" "^spile 1 1|1 kthreadd$"
out=$(spile -e 'probe begin { for (t = task_current(); task_pid(t) != 0; t = task_parent(t)) printf("%s ", task_execname(t)); exit() }' 2>/tmp/err) || fail "parents: $(cat /tmp/err)"
check "parents" "$out" "^spile sh .*init $"
threads=$(ls -d /proc/[0-9]*/task/[0-9]* | wc -l)
out=$(spile -e 'probe timer.ms(10) { printf("%d\n", @var("nr_threads", "kernel")); exit() }' 2>/tmp/err) || fail "a variable: $(cat /tmp/err)"
[ "$out" -ge $((threads - 5)) ] && [ "$out" -le $((threads + 10)) ] || fail "nr_threads: $out, and $threads in /proc"
out=$(spile -e 'global kept probe kernel.trace("sched_process_exec") { if (pid() == target()) kept = task_current() }
  probe timer.ms(100) { if (kept && task_execname(kept) != "sh") { printf("%s %d", task_execname(kept), task_pid(kept) == target()); exit() } }' -c 'exec sleep 20' 2>/tmp/err) || fail "a kept task: $(cat /tmp/err)"
check "a kept task" "$out" "^sleep 1$"
out=$(spile -e 'probe begin { try { println(kernel_long(0xffffffffffffff00)) } catch (e) { println(e) } exit() }' 2>&1)
check "an address where nothing is" "$out" "^kernel read fault at 0xffffffffffffff00$"
