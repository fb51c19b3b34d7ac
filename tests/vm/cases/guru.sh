# Writing to memory of processes from handlers in the kernel (-g): variables of uprobes, and set_user_int and its kind; not the kernel's memory.
# kernels: 6.12
# seconds: 90
. /guest.sh

# The text that a command writes, on its way to write(2).
out=$(spile -g -e 'global calls, wrong
  probe kernel.trace("syscalls:sys_enter_write") { if (pid() == target() && $count > 3) {
    calls++; set_user_char($buf, 0x58); set_user_string_n($buf + 1, 2, "YZ"); if (user_string_n($buf, 3) != "XYZ") wrong++ } }
  probe end { printf("%d %d\n", calls > 0, wrong) }' -c 'echo abcdef' 2>&1)
check "a buffer" "$out" '^XYZdef$'
check "what was written is read" "$out" '^1 0$'

out=$(spile -g -e 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) { try { set_user_int(16, 1) } catch (m) { println(m) }
  try { set_user_long(task_current(), 1) } catch (m) { println(m) } } }' -c true 2>&1)
check "a bad address" "$out" 'fault'
[ "$(echo "$out" | grep -c fault)" = 2 ] || fail "both addresses are refused: $out"

out=$(spile -g -e 'probe kernel.function("vfs_read") { $count = 1 }' -c true 2>&1) && fail "a write to the kernel was accepted"
check "the kernel's memory" "$out" "'.count' can't be written to: the kernel lets handlers write to memory of processes only"
