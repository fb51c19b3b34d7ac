# The kernel's switches by which administrators keep handlers from its functions: asked before arming, and while a script runs.
. /guest.sh

ftrace=/proc/sys/kernel/ftrace_enabled kprobes=/sys/kernel/debug/kprobes/enabled
reads='dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null'
# counted POINT: prints what spile says, and how often the point was hit by the command.
counted() { spile -e "global c probe $1 { if (pid() == target()) c++ } probe end { println(c) }" -c "exec $reads" 2>&1; }
# refuses FILE POINT: spile ends with the error that a switch is off, before the command runs.
refuses() {
  out=$(counted "$2") && fail "$2 with $1 off: $out"
  check "$2 with $1 off" "$out" "^spile: attach .*: its handler would never run, as .* switched off \\($1 is 0\\)$"
  check "what to do about $1" "$out" '^  hint: switch (it|them) on as root: '
}
# An instruction behind the function's first ones, where ftrace has none of its own.
inside=
for offset in 5 9; do
  point="kernel.statement(\"vfs_read+$offset\")"
  [ -n "$inside" ] || [ "$(counted "$point")" != 100 ] || inside=$point
done
[ -n "$inside" ] || fail "no instruction in vfs_read can be probed"

echo 0 >$ftrace
for point in 'kernel.function("vfs_read")' 'kernel.function("vfs_read").return' 'kernel.function("vfs_*")' \
  'kernel.function("vfs_*").return' 'kernel.statement("vfs_read+0")' 'kprobe.function("vfs_read")'; do
  refuses kernel.ftrace_enabled "$point"
done
check "a statement without ftrace" "$(counted "$inside")" '^100$'
check "a tracepoint without ftrace" "$(counted 'kernel.trace("raw_syscalls:sys_enter")')" '^[0-9]+$'
echo 1 >$ftrace
check "ftrace is whole" "$(counted 'kernel.function("vfs_read")')" '^100$'

echo 0 >$kprobes
refuses /sys/kernel/debug/kprobes/enabled "$inside"
# What needs no kprobes is attached by other means.
check "a function without kprobes" "$(counted 'kernel.function("vfs_read")')" '^100$'
out=$(counted 'kernel.function("vfs_rea*")') && check "functions without kprobes" "$out" '^[1-9][0-9]*$' ||
  check "functions by kprobes" "$out" 'kprobes are switched off'
# debugfs is asked also where it is not mounted.
umount /sys/kernel/debug
refuses /sys/kernel/debug/kprobes/enabled "$inside"
mount -t debugfs debugfs /sys/kernel/debug
echo 1 >$kprobes
check "kprobes are whole" "$(counted "$inside")" '^100$'

# While a script runs: one warning a change, and what is missing in the summary. Handlers that a switch does not concern go on.
running() { # running FILE POINT
  rm -f /tmp/armed
  spile -o /tmp/armed -e "global c, begun probe $2 { c++ } probe timer.ms(50) { if (!begun++) println(\"armed\") }
    probe end { println(c > 0) }" 2>/tmp/messages &
  run=$!
  until grep -q armed /tmp/armed 2>/dev/null; do kill -0 $run || fail "$(cat /tmp/messages)"; sleep 0.2; done
  sh -c "$reads"
  echo 0 >$1
  sleep 4
  echo 1 >$1
  sleep 3
  kill -INT $run
  wait $run || fail "status $?: $(cat /tmp/messages)"
}
running $ftrace 'kernel.function("vfs_read")'
for text in 'function tracing was switched off \(kernel.ftrace_enabled is 0\): handlers of .*vfs_read.* don.t run' \
  'function tracing was switched on again \(kernel.ftrace_enabled\)$' \
  '^WARNING: hits of .*vfs_read.* are missing: the kernel.s function tracing was off for up to ([4-9]|[1-9][0-9])[.0-9]* s'; do
  check "ftrace is switched" "$(cat /tmp/messages)" "$text"
  [ "$(grep -Ec "$text" /tmp/messages)" = 1 ] || fail "more than once: $(cat /tmp/messages)"
done
running $kprobes "$inside"
check "kprobes are switched off" "$(cat /tmp/messages)" 'kprobes were switched off \(/sys/kernel/debug/kprobes/enabled is 0\)'
check "kprobes are switched on" "$(cat /tmp/messages)" 'kprobes were switched on again'
check "hits by kprobes" "$(cat /tmp/messages)" 'hits of kernel.statement.* are missing: the kernel.s kprobes were off for up to'
running $ftrace "$inside"
check "a switch of others" "none:$(grep -v "^WARNING: timer.ms" /tmp/messages)" "^none:\$"
running $kprobes 'kernel.trace("sched:sched_switch")'
check "no switch of tracepoints" "none:$(grep -v "^WARNING: timer.ms" /tmp/messages)" "^none:\$"
