# Writing to memory of processes from handlers in the kernel (-g): variables of uprobes, and set_user_int and its kind; not the
# kernel's memory.
# kernels: 6.12
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

out=$(spile -g -e 'probe kernel.function("vfs_open").return, syscall.openat.return { $return = -13 }' 2>&1) && fail "a result of the kernel was changed"
check "what the kernel returns" "$out" "'.return' can't be written to: what the kernel's functions and system calls return is fixed"

# Variables of a process, by uprobes: each call adds 3, 6, 9 to the value that it finds.
change='{ $n->value = 100; $n->low = -4; set_user_int(&$n->numbers[1], 55); if ($n->value != 100 || $n->numbers[1] != 55) printf("not read back\n") }'
wanted='visit 3 103 55 -4 text
visit 6 106 55 -4 text
visit 9 109 55 -4 text'
out=$(spile -g --runtime=bpf -e "probe process.function(\"visit\") $change" -c values 2>&1)
[ "$(echo "$out" | grep -v '^sum')" = "$wanted" ] || fail "variables of the command: $out"
spile -g -e "probe process(\"/bin/values\").function(\"visit\") $change probe timer.s(30) { exit() } probe begin { println(\"armed\") }" >/tmp/armed 2>&1 &
tracer=$!
for attempt in $(seq 100); do grep -q armed /tmp/armed && break; sleep 0.1; done
for attempt in $(seq 50); do
  out=$(values)
  [ "$(echo "$out" | grep -v '^sum')" = "$wanted" ] && break
  sleep 0.1
done
kill -INT $tracer
wait $tracer
[ "$(echo "$out" | grep -v '^sum')" = "$wanted" ] || fail "variables of all processes: $out $(cat /tmp/armed)"
check "afterwards" "$(values)" '^visit 3 13 2 -3 text$'
out=$(spile -g --runtime=bpf -e 'probe process.function("visit") { $a = 1 }' -c values 2>&1) && fail "a register was written: $out"
check "a register" "$out" "'.a' is in a register that can't be written to here"

# Signals that handlers in the kernel raise: the sleep ends at once.
out=$(spile -g --runtime=bpf -e 'global n probe syscall.clock_nanosleep, syscall.nanosleep { if (pid() == target()) { n++; raise(15) } } probe end { printf("raised %d\n", n) }' \
  -c '/usr/bin/usleep 900000000' 2>&1)
check "a signal" "$out" '^raised 1$'
check "its end" "$out" 'exited with signal 15'
out=$(spile -g --runtime=bpf -e 'probe syscall.clock_nanosleep, syscall.nanosleep { if (pid() == target()) try { raise(99) } catch (m) { println(m) } }' -c '/usr/bin/usleep 10' 2>&1)
check "not a signal" "$out" '^signal 99 could not be sent$'
