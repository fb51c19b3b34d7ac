# `spile hist`: results of known causes, by tracepoints, by functions of the kernel, and between two events.
# often: 6.12
. /guest.sh
reads='head -c 5 /etc/passwd >/dev/null; dd if=/dev/zero of=/dev/null bs=1234 count=77 2>/dev/null'

out=$(spile hist syscalls:sys_enter_read keys=count,common_pid.execname vals=count sort=count.descending -c "$reads")
check "reads" "$out" '^\{ count:       1234, common_pid: dd +\[ +[0-9]+\] \} hitcount:         77  count:      95018$'
check "one of head" "$out" '^\{ count: +[0-9]+, common_pid: head +\[ +[0-9]+\] \} hitcount:          1 '
check "no other" "$out" '^    Hits: 78$'
[ "$(echo "$out" | grep '^{' | head -1 | grep -c ' dd ')" = 1 ] || fail "not sorted by count: $out"

# A filter, a rounded key, shares, two sort keys.
out=$(spile hist syscalls:sys_enter_read keys=count.log2,comm vals=count.hex,hitcount.percent sort=comm.descending,hitcount 'if count > 5 && comm ~ "d?"' -c "$reads")
check "filter" "$out" '^\{ count: ~ 2\^11, comm: dd +\} hitcount:         77  count:      1732a  hitcount \(%\): 100.00$'
check "one entry" "$out" '^    Entries: 1$'

# A table that is too small drops hits, and counts them.
out=$(spile hist raw_syscalls:sys_enter keys=id.syscall size=3 -c "$reads" 2>/dev/null)
check "three entries" "$out" '^    Entries: 3$'
check "dropped" "$out" '^    Dropped: [1-9][0-9]+$'
out=$(spile hist raw_syscalls:sys_enter keys=id.syscall sort=id -c "$reads")
check "calls by name" "$out" '^\{ id: sys_read +\[  0\] \} hitcount:         (7[89]|8[0-9])$'

# Functions of the kernel, aliases, addresses as symbols.
out=$(spile hist 'kernel.function("vfs_read")' 'keys=common_pid.execname,$count' vals=count -c "$reads")
check "function" "$out" '^\{ common_pid: dd +\[ +[0-9]+\], \$count:       1234 \} hitcount:         77  count:      95018$'
out=$(spile hist syscall.read keys=name vals=count 'if count == 1234' -c "$reads")
check "alias" "$out" '^\{ name: read +\} hitcount:         77  count:      95018$'
out=$(spile hist kmem:kmalloc keys=call_site.sym vals=bytes_req,bytes_alloc -c 'ls -l /proc/self/exe >/dev/null')
check "symbols" "$out" '^\{ call_site: \[[0-9a-f]+\] [a-z_][a-zA-Z_0-9]+ +\} hitcount: +[0-9]+  bytes_req: +[0-9]+  bytes_alloc: +[0-9]+$'

# Ten sleeps of a millisecond, each 2^20 ns or more; and each is woken once by a timer.
sleeps='for i in 1 2 3 4 5 6 7 8 9 10; do usleep 1000; done'
out=$(spile hist syscalls:sys_enter_clock_nanosleep syscalls:sys_exit_clock_nanosleep match=common_pid keys=comm vals=latency 'onmax(latency).save(common_pid)' -c "$sleeps")
check "sleeps" "$out" '^\{ comm: usleep +\} hitcount:         10  latency: +[0-9]{8,}  max: +[0-9]{7,}  common_pid: +[0-9]+$'
# Long ones: on a busy emulator a short sleep can be over before the thread has left the processor.
long_sleeps='for i in 1 2 3 4 5 6 7 8 9 10; do usleep 30000; done'
out=$(spile hist sched:sched_waking sched:sched_switch match=pid/next_pid keys=next_comm vals=latency -c "$long_sleeps")
check "wakes" "$out" '^\{ next_comm: usleep +\} hitcount: +(8|9|1[0-9])  latency: +[0-9]+$'
# Ten times interruptibly (1) in usleep, by the record's field.
out=$(spile hist sched:sched_switch keys=prev_state,prev_comm 'if prev_state == 1 && prev_comm == "usleep"' -c "$long_sleeps")
check "states" "$out" '^\{ prev_state:          1, prev_comm: usleep +\} hitcount: +([89]|1[0-9])$'

out=$(spile hist sched:sched_switch keys=next_com 2>&1) && fail "a wrong field was taken"
check "hint" "$out" "hint: did you mean 'next_comm'\? the fields are prev_comm"
