# Arrays of numbers by tid() alone: each thread has an element without a lock. Nothing is skipped, however many threads there are.
. /guest.sh

reads=8000
one="dd if=/dev/zero of=/dev/null bs=1 count=$reads 2>/dev/null"
four="$one & $one & $one & $one & wait"
all=$((4 * reads))

out=$(spile -e '
  global open, pairs, wrong, times
  probe kernel.trace("syscalls:sys_enter_read") { if (execname() == "dd" && $count == 1) { if (tid() in open) wrong++; open[tid()] = gettimeofday_ns(); open[tid()]++ } }
  probe kernel.trace("syscalls:sys_exit_read") {
    if (tid() in open) { pairs++; if ($ret != 1) wrong++; times <<< gettimeofday_ns() + 1 - open[tid()]; delete open[tid()]; if (tid() in open || open[tid()]) wrong++ } }
  probe end { printf("%d %d %d %d\n", pairs, wrong, @count(times), @min(times) > 0 && @max(times) < 5000000000) }' -c "$four" 2>&1)
check "four threads" "$out" "^$all 0 $all 1\$"
echo "$out" | grep -q skipped && fail "skipped: $out"

# Entry values of a function, in which four threads are at once.
out=$(spile -e '
  global n, wrong, saved
  probe kernel.function("vfs_read") { if (execname() == "dd") saved[tid()] = long_arg(3) }
  probe kernel.function("vfs_read").return { if (saved[tid()] == 1) { n++; if (@entry(long_arg(3)) != 1 || @entry(tid()) != tid()) wrong++; delete saved[tid()] } }
  probe end { printf("%d %d\n", n, wrong) }' -c "$four" 2>&1)
check "four threads in a function" "$out" "^$all 0\$"
echo "$out" | grep -q skipped && fail "skipped: $out"

# Calls that are pending while others come and go, from many threads: each finds its own values.
sleepers="i=0; while [ \$i -lt 8 ]; do sleep 2 & i=\$((i + 1)); done; $one; wait"
out=$(spile -e '
  global n, wrong, slept
  probe kernel.function("hrtimer_nanosleep").return { if (execname() != "dd") { slept++; if (@entry(tid()) != tid()) wrong++ } }
  probe kernel.function("vfs_read").return { if (execname() == "dd" && @entry(long_arg(3)) == 1) n++ }
  probe end { printf("%d %d %d\n", n, slept >= 8, wrong) }' -c "$sleepers" 2>&1)
check "pending calls" "$out" "^$reads 1 0\$"

# Threads that end with their elements set leave them behind, as keys of any array: later threads are not confused.
out=$(spile -e '
  global last, ended, wrong, n
  probe kernel.trace("syscalls:sys_enter_exit_group") { if (last[tid()] != 7) { last[tid()] = 7; ended++ } else wrong++ }
  probe kernel.trace("syscalls:sys_enter_read") { if (execname() == "dd" && $count == 1) { n++; if (tid() in last) wrong++ } }
  probe end { printf("%d %d %d\n", ended >= 200, wrong, n) }' -c "i=0; while [ \$i -lt 200 ]; do /bin/true & i=\$((i + 1)); done; wait; $one" 2>&1)
check "threads that end" "$out" "^1 0 $reads\$"

# More threads than the array has room for: an error of the script, as with other keys.
out=$(spile -DMAXMAPENTRIES=64 -e 'global last, n probe kernel.trace("syscalls:sys_enter_exit_group") { last[tid()] = 1; if (last[tid()]) n++ }' \
  -c 'i=0; while [ $i -lt 700 ]; do /bin/true; i=$((i + 1)); done' 2>&1)
check "too many threads" "$out" "^ERROR: Array overflow, check MAXMAPENTRIES near identifier 'last'"

# The idle threads of all processors have the number 0, and an element each. On a busy host it takes a guest long to have nothing
# to do.
rm -f /tmp/rested
out=$(spile -e '
  global on, wrong, n
  probe kernel.trace("sched:sched_switch") { if (tid() == 0) { if (tid() in on) { n++; if (on[tid()] != cpu() + 1) wrong++ } on[tid()] = cpu() + 1 } }
  probe timer.ms(200) { if (n > 10) system("echo >/tmp/rested") }
  probe end { printf("%d %d\n", n > 10, wrong) }' -c 'wait_for /tmp/rested' 2>&1)
check "idle threads" "$out" "^1 0\$"

# A handler of a timer's interrupt that comes in the midst of another of its thread's is skipped and counted; the other one is
# whole.
out=$(spile -DMAXSKIPPED=0 -e '
  global open, pairs, inside, samples
  probe kernel.trace("syscalls:sys_enter_read") { if (execname() == "dd" && $count == 1) open[tid()] = 1 }
  probe kernel.trace("syscalls:sys_exit_read") { if (tid() in open) { pairs++; delete open[tid()] } }
  probe timer.profile { samples++; if (tid() in open) inside++ }
  probe end { printf("%d %d\n", pairs, inside <= samples && samples > 0) }' -c "$four" 2>&1)
check "beside a timer" "$out" "^$all 1\$"
