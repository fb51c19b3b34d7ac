# Tracepoints and the profile, system-wide.
. /guest.sh

# The compiler takes seconds in an emulated machine, and -T counts it: these end by a timer of their own.
out=$(spile -e '
  global switches, by_next, at, looks
  probe kernel.trace("sched:sched_switch") { switches++; by_next[$next_comm]++; at[cpu()] <<< $next_pid }
  probe timer.ms(200) { if (switches > 20 || ++looks > 50) exit() }
  probe end { total = 0; foreach (n in by_next) total += by_next[n]
              samples = 0; foreach (c in at) samples += @count(at[c])
              printf("%d %d %d\n", switches > 20, total == switches, samples == switches) }')
check "tracepoint" "$out" '^1 1 1$'

out=$(spile -e '
  global c
  probe kernel.trace("syscalls:sys_enter_openat") { if (pid() == target()) { c++; printf("opens %s\n", user_string($filename)) } }
  probe end { printf("%d\n", c > 0) }' -c 'cat /etc/passwd')
check "system call's string" "$out" '^opens /etc/passwd$'
check "system calls" "$out" '^1$'

out=$(spile -e 'global c probe timer.profile { c[execname(), cpu()] <<< 1 } probe timer.s(2) { exit() }
                     probe end { n = 0; foreach ([e, p] in c) n += @count(c[e, p]); printf("%d\n", n > 50) }')
check "profile" "$out" '^1$'

out=$(spile -e 'probe kernel.trace("sched:sched_swich") { exit() }' 2>&1) && fail "an unknown tracepoint was not refused"
check "did you mean" "$out" 'sched:sched_switch'
