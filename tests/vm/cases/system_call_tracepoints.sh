# The tracepoints of all system calls together: by one program, which looks at the number of the call. Counts equal those of the
# program.
. /guest.sh

reads=5000
work="dd if=/dev/zero of=/dev/null bs=1 count=$reads 2>/dev/null"

start=$(cut -d' ' -f1 /proc/uptime)
out=$(spile -v -e 'global entered, left, got, names, wrong
  probe kernel.trace("syscalls:sys_enter_*") { if (pid() == target()) { entered++; names[pn()] <<< 1 } }
  probe kernel.trace("syscalls:sys_exit_*") { if (pid() == target()) { left++; got += $ret == 1 && $__syscall_nr <= 1; if ($__syscall_nr > 500) wrong++ } }
  probe end { printf("%d %d %d %d\n", @count(names["kernel.trace(\"syscalls:sys_enter_*\")"]) == entered, left - entered >= -2 && left <= entered + 2, got, wrong) }' -c "$work" 2>&1)
check "all calls" "$out" "^1 1 $((2 * reads)) 0\$"
check "the mechanism of entries" "$out" 'sys_enter_[a-z0-9_]*"\) and 3[0-9][0-9] more: raw tracepoint raw_syscalls:sys_enter$'
check "the mechanism of exits" "$out" 'sys_exit_[a-z0-9_]*"\) and 3[0-9][0-9] more: raw tracepoint raw_syscalls:sys_exit$'
on=$(echo "$out" | sed -n 's/^Pass 5: .*\/\([0-9]*\)real ms.*/\1/p')
echo "all calls: pass 5 took $on ms"
[ "$on" -lt 20000 ] || fail "the probes took $on ms"

# Arguments and names, of calls whose tracepoint has another name as well, as a tracepoint of its own has them.
out=$(spile -e 'global n
  probe kernel.trace("syscalls:sys_enter_*") { if (pid() == target() && pp() == "kernel.trace(\"syscalls:sys_enter_read\")") n["read"]++
    if (pid() == target() && pp() == "kernel.trace(\"syscalls:sys_enter_newuname\")") n["uname"]++ }
  probe kernel.trace("syscalls:sys_enter_read") { if (pid() == target() && $count == 1) n["one"]++ }
  probe kernel.trace("syscalls:sys_enter_newuname") { if (pid() == target()) n["uname alone"]++ }
  probe end { printf("%d %d\n", n["read"] >= n["one"] && n["one"] == '$reads', n["uname"] == n["uname alone"]) }' -c "$work" 2>&1)
check "names of calls" "$out" '^1 1$'

out=$(spile -e 'global n probe kernel.trace("syscalls:sys_enter_*") { if (pid() == target()) n[$$name]++ }
  probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) n[$$name . " alone"]++ }
  probe end { printf("%d %d\n", n["sys_enter_read"], n["sched_process_exit alone"]) }' -c "exec $work" 2>&1)
check "\$\$name" "$out" "^$reads 1\$"

# A handler that uses nothing of the record runs on a raw tracepoint, others on the one with a record; a name that has no raw one
# too.
out=$(spile -v -e 'global a, b probe kernel.trace("sched:sched_process_fork") { if (pid() == target()) a++ } probe kernel.trace("sched:sched_process_fork") { if (pid() == target()) b += $parent_pid > 0 }
  probe end { printf("%d %d\n", a > 0, a == b) }' -c 'true; /bin/true; (exit 3); true | true' 2>&1)
check "a raw tracepoint" "$out" ': raw tracepoint sched:sched_process_fork$'
check "a tracepoint with a record" "$out" ': tracepoint sched:sched_process_fork$'
check "both count the same" "$out" '^1 1$'

# By the name of SystemTap's first designs.
out=$(spile -e 'global bytes, calls probe kernel.syscall("read") { if (pid() == target() && byte_count == 3) { bytes += byte_count; calls++ } }
                probe end { printf("2005: %d %d\n", calls, bytes) }' -c 'exec dd if=/dev/zero of=/dev/null bs=3 count=400 2>/dev/null' 2>&1)
check "kernel.syscall" "$out" '^2005: 400 1200$'
