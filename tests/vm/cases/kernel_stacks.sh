# Stacks in handlers on functions of the kernel and of modules, beside ftrace's; and of the processes that call them.
# kernels: 6.12
. /guest.sh

reads='dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null'
names() { sed -n 's/^ 0x[0-9a-f]* : \([^+]*\)+.*/\1/p'; }

# By each mechanism the probed function comes first, at its first instruction, then its callers.
for point in 'kernel.function("vfs_read")' 'kernel.function("vfs_*")' 'kernel.statement("vfs_read+0")'; do
  out=$(spile -e "probe $point { if (pid() == target() && symname(stack(0)) == \"vfs_read\") { print_backtrace(); printf(\"%s %s\n\", symname(stack(0)), symname(addr())); exit() } }" -c "exec $reads" 2>&1)
  check "first frame of $point" "$(echo "$out" | head -1)" '^ 0xf[0-9a-f]+ : vfs_read\+0x[0-9a-f]/0x[0-9a-f]+ \[kernel\]$'
  check "callers of $point" "$(echo "$out" | names | tr '\n' ' ')" '^vfs_read ksys_read do_syscall_64 entry_SYSCALL_64_after_hwframe $'
  check "names in the handler of $point" "$out" '^vfs_read vfs_read$'
done
out=$(spile -e 'probe kernel.function("vfs_read").return { if (pid() == target()) { print_backtrace(); exit() } }' -c "exec $reads" 2>&1)
check "at a return" "$(echo "$out" | names | tr '\n' ' ')" 'ksys_read do_syscall_64 entry_SYSCALL_64_after_hwframe $'

# ftrace shows the same frames.
cd /sys/kernel/tracing && echo >trace && echo 'ksys_sync:stacktrace:1' >set_ftrace_filter || fail "no stacks by ftrace"
out=$(spile -e 'probe kernel.function("ksys_sync") { print_backtrace() exit() }' -c sync 2>&1)
sync
traced=$(sed -n 's/^ => //p' trace | sed -n '/^ksys_sync/,/^entry_SYSCALL/p' | sed '/^entry_SYSCALL/q' | grep -v ^0x | tr '\n' ' ')
cd /
check "ftrace's frames" "$traced" '^ksys_sync .*do_syscall_64 entry_SYSCALL_64_after_hwframe $'
[ "$(echo "$out" | names | tr '\n' ' ')" = "$traced" ] || fail "ftrace has $traced, spile has $out"

# Functions of modules.
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
out=$(spile -e 'probe module("loop").function("lo_ioctl") { if (pid() == target()) { print_backtrace(); printf("%s %s\n", modname(stack(0)), modname(stack(1))) exit() } }' \
  -c 'exec losetup /dev/loop0 /bin/busybox' 2>&1)
check "a module's function" "$out" '^ 0xf[0-9a-f]+ : lo_ioctl\+0x[0-9a-f]/0x[0-9a-f]+ \[loop\]$'
check "its caller" "$out" '^ 0xf[0-9a-f]+ : blkdev_ioctl\+0x[0-9a-f]+/0x[0-9a-f]+ \[kernel\]$'
check "names of modules" "$out" '^loop kernel$'
losetup -d /dev/loop0

# Stacks as keys, and tracepoints of both kinds.
out=$(spile -e 'global n probe kernel.function("vfs_read") { if (pid() == target()) n[symname(stack(1)), callers(2)]++ }
                probe end { foreach ([name, stack] in n- limit 1) { printf("%d %s\n", n[name, stack] >= 100, name); print_stack(stack) } }' -c "exec $reads" 2>&1)
check "stacks as keys" "$out" '^1 ksys_read$'
check "named at the end" "$(echo "$out" | names | tr '\n' ' ')" '^vfs_read ksys_read do_syscall_64 $'
for more in '' '&& $prev_pid > 0'; do
  out=$(spile -e "probe kernel.trace(\"sched:sched_switch\") { if (pid() == target() $more) { print_backtrace(); exit() } }" -c 'sleep 0.1' 2>&1)
  check "a tracepoint $more" "$(echo "$out" | head -1)" '^ 0xf[0-9a-f]+ : __schedule\+'
done

# The process that a function of the kernel's interrupts.
server 30 >/dev/null & pid=$!
sleep 1
out=$(spile -e 'probe kernel.function("do_nanosleep") { if (pid() == target()) { print_ubacktrace(); print_backtrace(); exit() } }' -x $pid 2>&1)
check "a process's stack" "$(echo "$out" | names | tr '\n' ' ')" 'nanosleep usleep run .*do_nanosleep '
kill $pid

# Without addresses there are no names, and so no stacks.
echo 2 >/proc/sys/kernel/kptr_restrict
out=$(spile -e 'probe kernel.function("vfs_read") { print_backtrace() }' -c true 2>&1) && fail "names without addresses: $out"
check "hidden addresses" "$out" 'the kernel hides where its functions are'
echo 0 >/proc/sys/kernel/kptr_restrict
