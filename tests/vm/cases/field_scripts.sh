# What scripts of the field use of the kernel: values of system calls' begins, functions that SystemTap's library has for itself,
# and @cast without a module in functions. Each with a cause that is counted.
# kernels: 6.12
. /guest.sh

for options in '' --runtime=bpf; do
  out=$(spile $options -e 'global slept, short
    probe syscall.clock_nanosleep.return, syscall.nanosleep.return { if (execname() == "usleep") { if (gettimeofday_us() - @entry(gettimeofday_us()) >= 100000) slept++; else short++ } }
    probe end { printf("slept %d %d\n", slept, short) }' -c 'for i in 1 2 3; do /usr/bin/usleep 100000; done' 2>&1)
  check "@entry of calls $options" "$out" '^slept 3 0$'
done
# Functions have no module of their own: @cast finds the kernel's types.
out=$(spile -e 'function number(task) { return @cast(task, "task_struct")->pid } global n
  probe kernel.function("vfs_read") { if (number(task_current()) != tid()) n++ } probe end { printf("others %d\n", n) }' -c 'cat /etc/passwd >/dev/null' 2>&1)
check "@cast in functions" "$out" '^others 0$'

out=$(spile -e 'global n, wrong
  probe syscall.write.return { if (@entry($count) == 3 && $return == 3) { n++; if ($fd != @entry($fd)) wrong++ } }
  probe end { printf("writes %d %d\n", n, wrong) }' -c 'dd if=/dev/zero of=/dev/null bs=3 count=400 2>/dev/null' 2>&1)
check "names of a call's parameters" "$out" '^writes 400 0$'

# Names of older kernels: the same functions, and members of structures, of today.
out=$(spile -e 'global n, ended, wrong, family
  probe kernel.function("sys_write") { if ($count == 3) { n++; if ($fd != 1 || $$parms !~ "^fd=0x1 buf=.* count=0x3$") wrong++ } }
  probe kernel.function("sys_write").return { if (@entry($count) == 3 && $return == 3) ended++ }
  probe end { printf("sys_write %d %d %d\n", n, ended, wrong) }' -c 'dd if=/dev/zero of=/dev/null bs=3 count=300 2>/dev/null' 2>&1)
check "functions of system calls by their old names" "$out" '^sys_write 300 300 0$'
# A pattern of them stands for all, each with the parameters of its call, once.
out=$(spile -e 'global calls, ended, sizes
  probe kernel.function("sys_[rw]*") { if (pid() == target()) calls[ppfunc(), probefunc()]++ }
  probe kernel.function("sys_writ[e]").return { if (pid() == target()) { ended[$return]++; sizes[@entry($count)]++ } }
  probe end { printf("write %d %d %d\n", calls["__x64_sys_write", "__x64_sys_write"], ended[3], sizes[3]); printf("close %d\n", calls["__x64_sys_close", "__x64_sys_close"]) }' \
  -c 'dd if=/dev/zero of=/dev/null bs=3 count=200 2>/dev/null' 2>&1)
check "a pattern of system calls" "$out" '^write 201 200 200$'  # with the one of dd's summary
check "other calls" "$out" '^close 0$'
check "its warning" "$out" "'sys_\[rw\]\*' stands for system calls, too, which this kernel has as '__x64_sys_\[rw\]\*': it has [0-9]+ of these functions"
# Where the script names both, each is counted once.
out=$(spile -e 'global n probe kernel.function("sys_writ[e]")?, kernel.function("__x64_sys_writ[e]")? { if (pid() == target() && $count == 3) n++ } probe end { printf("once %d\n", n) }' \
  -c 'dd if=/dev/zero of=/dev/null bs=3 count=200 2>/dev/null' 2>&1)
check "both names" "$out" '^once 200$'

# Functions under their names of older kernels: of programs that begin (with the shell of -c), of those that end with a dump of
# their memory, of ticks.
out=$(spile -e 'global begun, dumped, ticks
  probe kernel.function("flush_old_exec").return { if ($return == 0) begun++ }
  probe kernel.function("do_coredump") { dumped++ }
  probe kernel.function("scheduler_tick") { ticks++ }
  probe end { printf("begun %d dumped %d ticks %d\n", begun, dumped, ticks > 10) }' -c 'for i in 1 2 3; do /usr/bin/usleep 100000; done; for i in 1 2; do sh -c "kill -ABRT \$\$"; done' 2>&1)
check "names of older kernels" "$out" '^begun 6 dumped 2 ticks 1$'
check "their warning" "$out" "'flush_old_exec' has another name in this kernel: 'begin_new_exec' is probed"

# Commands that handlers in the kernel have run: one that the script spells out, and one that it makes.
out=$(spile -e 'global n probe kernel.function("sys_sync") { n++; system("echo spelled"); system(sprintf("echo made %d", n)) }' -c 'sync; sync; sync' 2>&1)
check "commands" "$(echo "$out" | sort | tr '\n' ' ')" '^made 1 made 2 made 3 spelled spelled spelled $'

mkdir /tmp/here && mount -t tmpfs here /tmp/here && echo some >/tmp/here/opened || fail "no file system"
out=$(spile -e 'global n, wrong, states
  probe generic.fop.open { if (filename == "opened" && isize == 5) n++ }
  probe kernel.function("vfs_open") { if ($file && $path->dentry != 0) states[task_current() != 0 && @cast(task_current(), "task_struct", "kernel")->state]++ }
  probe kernel.function("vfs_read") { if ($file->f_dentry != $file->f_path->dentry) wrong++ }
  probe end { printf("opened %d %d %d\n", n, wrong, states[0] > 0) }' -c 'for i in 1 2 3; do cat /tmp/here/opened; done' 2>&1)
check "members by their old names" "$out" '^opened 3 0 1$'

out=$(spile -e 'global n probe kprobe.function(@arch_syscall_prefix "sys_sync") { n++ } probe end { printf("syncs %d\n", n) }' -c 'sync; sync; sync' 2>&1)
check "the prefix of system calls" "$out" '^syncs 3$'

# What a socket knows of a connection is what stands in its packets.
out=$(spile -e 'global states, other, n
  probe kernel.function("tcp_rcv_established") {
    header = __get_skb_tcphdr($skb)
    ip = __get_skb_iphdr($skb)
    if (__tcp_sock_sport($sk) != 1234 && __tcp_sock_dport($sk) != 1234) next
    n++
    states[tcp_sockstate_str(tcp_ts_get_info_state($sk))]++
    if (__tcp_skb_sport(header) != __tcp_sock_dport($sk) || __tcp_skb_dport(header) != __tcp_sock_sport($sk)) other++
    # One of the sockets may be of IPv6: ::ffff:127.0.0.1
    if (format_ipaddr(__ip_skb_saddr(ip), 2) != "127.0.0.1") other += 100
    if (format_ipaddr(__ip_sock_daddr($sk), __ip_sock_family($sk)) !~ "(^|:)(127.0.0.1|7f00:0001)$") other += 10000
    if ($sk->sk_family != __ip_sock_family($sk) || $sk->sk_dport != $sk->__sk_common->skc_dport || @cast($sk, "inet_sock")->inet_dport != $sk->sk_dport) other += 1000000
    if (__ip_skb_proto(ip) != 6 || !__tcp_skb_ack(header) || __tcp_skb_syn(header)) other++
    if (tcp_get_info_rto($sk) < 1000 || tcp_get_info_snd_cwnd($sk) < 1) other++
  }
  probe end { foreach (s in states) printf("%s\n", s); printf("packets %d wrong %d\n", n > 0, other) }' -c 'nc -l -p 1234 </dev/null >/dev/null & until echo hello | nc 127.0.0.1 1234 >/dev/null 2>&1; do sleep 0.1; done; wait $!' 2>&1)
check "packets" "$out" '^packets 1 wrong 0$'
check "states" "$out" '^TCP_ESTABLISHED$'

echo 12345 >/tmp/some_file
out=$(spile -e 'global n, names, devices
  probe kernel.function("vfs_read") { if (__file_filename($file) == "some_file") { n++; names[__file_ino($file)]++; devices[MAJOR(__file_dev($file))]++ } }
  probe end { foreach (ino in names) printf("file %d %d\n", n, ino) }' -c 'for i in 1 2 3; do dd if=/tmp/some_file of=/dev/null bs=100 count=1 2>/dev/null; done' 2>&1)
check "files" "$out" "^file 3 $(stat -c %i /tmp/some_file)\$"

[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
out=$(spile -l 'module("l[on]op*").function("lo_op*")' 2>&1)
check "modules by a pattern" "$out" '^module\("loop"\).function\("lo_open'
out=$(spile -p2 -e 'probe module("nothing*").function("x") { next }' 2>&1)
check "no such modules" "$out" "no module that is loaded matches 'nothing\*'"
dd if=/dev/zero of=/tmp/disk bs=1M count=1 2>/dev/null && losetup /dev/loop0 /tmp/disk || fail "no disk"
out=$(spile -e 'global names probe kernel.function("submit_bio") { if ($bio->bi_bdev) names[bdevname($bio->bi_bdev)]++ }
  probe end { foreach (n in names) printf("%s %d\n", n, names[n]) }' -c 'dd if=/dev/zero of=/dev/loop0 bs=4096 count=20 oflag=direct 2>/dev/null' 2>&1)
check "names of devices" "$out" '^loop0 2[0-9]$'
losetup -d /dev/loop0

# Arguments that tracepoints and functions had in older kernels, files of functions, and constants of the library.
ip link set lo up
out=$(spile -e 'global woken, names, devices, ends
  probe kernel.trace("sched_wakeup") { if (!$success) next; woken += $p->pid > 0 }
  probe kernel.function("sys_newuname") { if (pid() == target() && $name) names++ }
  probe kernel.function("ip_output@net/ipv4/ip_output.c") { if (get_netdev_name(@cast($skb->_skb_refdst & ~1, "dst_entry")->dev) == "lo") devices++ }
  probe kernel.function("__wake_up") { if ($q != $wq_head) error("another queue") }
  probe vm.pagefault.return { ends += !vm_fault_contains(fault_type, VM_FAULT_ERROR) && AF_INET() == 2 }
  probe end { printf("%d %d %d %d\n", woken > 0, names > 0, devices, ends > 0) }' -c 'ping -c 3 -i 0.1 127.0.0.1 >/dev/null; exec uname' 2>&1)
check "names of older kernels and releases" "$out" '^1 1 6 1$'
check "a file that is not checked" "$out" 'in which file the kernel has its only function of that name was not checked'
dd if=/dev/zero of=/tmp/disk bs=1M count=1 2>/dev/null && losetup /dev/loop0 /tmp/disk || fail "no disk"
out=$(spile -e 'global bytes, writes probe ioblock.end { if (devname == "loop0" && bio_rw_num(rw) == BIO_WRITE) { bytes += bytes_done; writes++ } }
  probe end { printf("bytes %d %d\n", bytes, writes) }' -c 'exec dd if=/dev/zero of=/dev/loop0 bs=8192 count=20 oflag=direct 2>/dev/null' 2>&1)
check "bytes of requests" "$out" '^bytes 163840 20$'
losetup -d /dev/loop0
out=$(spile -l 'dw_syscall.open' 2>&1; spile -l 'tp_syscall.open' 2>&1)
check "names of aliases of calls" "$out" '^tp_syscall.open'

# What is not there in this kernel.
out=$(spile -p2 -e 'probe kernel.function("sys_openat") { next }' 2>&1)
check "a system call's function" "$out" 'kernel.function."__x64_sys_openat".'
out=$(spile -p2 -e 'probe kernel.trace("sched_switch") { println($prev->statte) }' 2>&1)
check "a member" "$out" "has no member 'statte'"
out=$(spile -g -e 'function f:long(x:long) %{ STAP_RETVALUE = STAP_ARG_x; %} probe kernel.function("vfs_read") { println(f(1)) }' 2>&1)
check "embedded C" "$out" 'the kernel runs eBPF only'
out=$(spile -g -e 'function family() { return %{ AF_INET6 %} } global n
  probe syscall.socket { if (pid() == target() && $family == %{ AF_INET %} && family() == 10) n++ } probe kernel.trace("sched:sched_process_exec") {}
  probe end { printf("sockets %d\n", n) }' -c 'exec causes tcp 3' 2>&1)
check "constants of C" "$out" '^sockets 2$'
