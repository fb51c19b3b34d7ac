# More aliases of the library over functions and tracepoints of the kernel, each with a cause that is counted: many in one script.
# often: 6.12
. /guest.sh
ip link set lo up

# counted WHAT PATTERN COMMAND SCRIPT: what the script prints while the command runs.
counted() {
  out=$(spile -e "$4" -c "$3" 2>&1)
  check "$1" "$out" "$2"
}

# Signals: 10 rounds of two sigactions, kill, tkill, tgkill, sigprocmask and sigpending. From the second round on they are
# blocked, and not ignored.
counted "signals" '^10 10 10 10 10 10 30 30 3 20 10 10 10 10$' 'exec causes actions 10' '
  global kills, kills_done, tkills, tkills_done, tgkills, tgkills_done, allowed, granted, ignored, acts, acts_new, masks, pending, pending_done
  probe signal.syskill { if (pid() == target() && sig == 12 && sig_name == "SIGUSR2" && sig_pid == pid() && task == task_current() && pid_name == execname()) kills++ }
  probe signal.syskill.return { if (pid() == target() && retstr == "0") kills_done++ }
  probe signal.sys_tkill { if (pid() == target() && sig == 12 && sig_pid == tid() && task == task_current() && pid_name == "causes") tkills++ }
  probe signal.systkill.return { if (pid() == target() && retstr == "0") tkills_done++ }
  probe signal.sys_tgkill { if (pid() == target() && sig == 12 && tgid == pid() && sig_pid == tid() && task == task_current()) tgkills++ }
  probe signal.sys_tgkill.return { if (pid() == target() && retstr == "0") tgkills_done++ }
  probe signal.checkperm { if (pid() == target() && sig == 12 && task == task_current() && sig_pid == pid() && pid_name == "causes") allowed++ }
  probe signal.checkperm.return { if (pid() == target() && retstr == "0") granted++ }
  probe signal.check_ignored.return { if (pid() == target() && execname() == "causes") ignored += retstr == "1" }
  probe signal.do_action { if (pid() == target() && sig == 12) { acts++; if (sigact_addr && sa_handler == 1 && sa_mask == 1) acts_new++ } }
  probe signal.procmask { if (pid() == target() && how == 0 && sigset == 0x800 && sigset_mask_str(sigset) == "SIGUSR2") masks++ }
  probe signal.pending { if (pid() == target() && sigset_size == 8 && sigset_add) pending++ }
  probe signal.pending.return { if (pid() == target() && retstr == "0") pending_done++ }
  probe end { printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", kills, kills_done, tkills, tkills_done, tgkills, tgkills_done, allowed, granted, ignored, acts, acts_new, masks, pending, pending_done) }'
# A stack that is not there, 3 times; a timer, 5 times; a child that sleeps is woken for the signal that ends it.
counted "signal.force_segv" '^3 3$' 'exec causes badstack 3' '
  global n, done
  probe signal.force_segv { if (ppid() == target() && sig == 10 && sig_name == "SIGUSR1" && sig_pid == pid() && pid_name == "causes") n++ }
  probe signal.force_segv.return { if (ppid() == target() && retstr == "0") done++ }
  probe end { printf("%d %d\n", n, done) }'
counted "signal.send_sig_queue" '^1 1 1$' 'exec causes timer 5' '
  global n, done, woken
  probe signal.send_sig_queue { if (sig_pid == target() && sig == 10 && sig_name == "SIGUSR1" && pid_name == "causes" && sigqueue_addr) n++ }
  probe signal.send_sig_queue.return { done += retstr == "0" }
  probe signal.wakeup { if (sig_pid == target() && pid_name == "causes") woken += state_mask == "TASK_INTERRUPTIBLE" && !resume }
  probe end { printf("%d %d %d\n", n >= 5, done >= n, woken >= 1) }'

# Memory: 50 pages that a child shares; each is copied. ptrace: 20 words of a child that stands still.
shared='global n, copies, rising, last
  probe vm.write_shared { if (pid() == target() && execname() == "causes") { n++; if (address == last + 4096) rising++; last = address } }'
if [ "$(uname -r | cut -d. -f1-2)" = 6.1 ]; then
  counted "vm.write_shared" '^1 1 1$' 'exec causes shared 50' "$shared
    probe vm.write_shared_copy { if (pid() == target() && address && !zero) copies++ } probe end { printf(\"%d %d %d\\n\", n >= 50, rising >= 49, copies >= 50) }"
else
  counted "vm.write_shared" '^1 1 0$' 'exec causes shared 50' "$shared probe end { printf(\"%d %d %d\\n\", n >= 50, rising >= 49, copies) }"
  out=$(spile -p2 -e 'probe vm.write_shared_copy {}' 2>&1)
  check "a function that is inlined" "$out" "no function 'wp_page_copy' in this kernel"
fi
# The names of flags have too many ways to run for the verifier of 6.1.
if [ "$(uname -r | cut -d. -f1-2)" = 6.1 ]; then name='gfp_flags > 0'; else name='gfp_flag_name =~ "GFP_KERNEL"'; fi
counted "scheduler.wait_task and vm.kmalloc" '^1 1 1$' 'exec causes peeks 20' "
  global n, sizes, names
  probe scheduler.wait_task { if (pid() == target() && task_pid > pid() && task_priority == 120) n++ }
  probe vm.kmalloc { if (pid() == target()) { sizes += bytes_alloc >= bytes_req; names += $name } }
  probe end { printf(\"%d %d %d\\n\", n >= 20, sizes > 0, names > 0) }"

# Sockets as files, 10 times each.
counted "socket.read_iter, readv and others" '^20 20 20 20 10 10 10 10$' 'exec causes files 10' '
  global reads, reads_done, writes, writes_done, readvs, readvs_done, writevs, writevs_done
  probe socket.aio_read { if (pid() == target() && size == 6 && family == 1 && type == 1 && state == 3) reads++ }
  probe socket.read_iter.return { if (pid() == target() && size == 6 && success) reads_done++ }
  probe socket.write_iter { if (pid() == target() && size == 6 && family == 1 && protocol == 0) writes++ }
  probe socket.aio_write.return { if (pid() == target() && size == 6 && success) writes_done++ }
  probe socket.readv { if (pid() == target() && size == 6 && family == 1) readvs++ }
  probe socket.readv.return { if (pid() == target() && size == 6 && success) readvs_done++ }
  probe socket.writev { if (pid() == target() && size == 6 && type == 1) writevs++ }
  probe socket.writev.return { if (pid() == target() && size == 6 && success) writevs_done++ }
  probe end { printf("%d %d %d %d %d %d %d %d\n", reads, reads_done, writes, writes_done, readvs, readvs_done, writevs, writevs_done) }'
# Of each of 8 connections two ends; the one that connects to nothing is reset.
counted "tcp, udp and tcpmib" '^8 8 8 8 8 8 8 8 1 1$' 'exec causes unconnect 8' '
  global options, options_done, tcp, tcp_done, udp, udp_done
  probe tcp.setsockopt { if (pid() == target() && level == 6 && optname == 1 && optstr == "TCP_NODELAY" && optlen == 4 && family == 2) options++ }
  probe tcp.setsockopt.return { if (pid() == target() && ret == 0) options_done++ }
  probe tcp.disconnect { if (pid() == target() && daddr == "127.0.0.1" && dport) tcp++ }
  probe tcp.disconnect.return { if (pid() == target() && ret == 0) tcp_done++ }
  probe udp.disconnect { if (pid() == target() && daddr == "127.0.0.1" && dport && family == 2) udp++ }
  probe udp.disconnect.return { if (pid() == target() && ret == 0 && daddr == "127.0.0.1" && dport) udp_done++ }
  probe tcpmib.ActiveOpens, tcpmib.PassiveOpens, tcpmib.EstabResets, tcpmib.InSegs {}
  probe end { printf("%d %d %d %d %d %d %d %d %d %d\n", options, options_done, tcp, tcp_done, udp, udp_done, ActiveOpens[1], PassiveOpens[1], EstabResets[1] >= 8, InSegs[1] >= 24) }'

mkdir -p /dev/pts && mount -t devpts devpts /dev/pts || fail "no terminals"
# A terminal: 10 rounds, of which each writes and reads 6 bytes, and one end that is opened and closed.
counted "tty" '^1 1 10 10 10 10 1$' 'exec causes pty 10' '
  global opened, closed, sizes, polls, reads, writes, received
  probe tty.open { if (pid() == target() && file_name == "0" || file_name == "1" && inode_number) opened++ }
  probe tty.release { if (pid() == target() && (file_name == "0" || file_name == "1")) closed++ }
  probe tty.ioctl { if (pid() == target() && cmd == 0x5414 && arg && name == "ptmx") sizes++ }
  probe tty.poll { if (pid() == target() && file_name == "ptmx") polls++ }
  probe tty.read { if (pid() == target() && nr == 6 && driver_name == "pty_slave") reads++ }
  probe tty.write { if (pid() == target() && nr == 6 && driver_name == "pty_master" && strlen(buffer) == 6) writes++ }
  probe tty.receive { if (driver_name == "pty_slave") received += count }
  probe end { printf("%d %d %d %d %d %d %d\n", opened, closed, sizes, polls, reads, writes, received >= 60) }'
counted "tty.resize" '^30 80 30 100$' 'stty -F /dev/ttyS1 rows 24 cols 80; stty -F /dev/ttyS1 rows 30 cols 100' '
  probe tty.resize { if (name == "ttyS1" && old_row) printf("%d %d %d %d\n", old_row, old_col, new_row, new_col) }'

# A device of the network: made, up, another size and address, all packets and no longer, down, gone.
insmod /modules/dummy.ko numdummies=0 || fail "no dummy.ko"
counted "netdev" '^1 1 1 1 1 1 3 1 1$' 'ip link add dummy9 type dummy; ip link set dummy9 up; ip link set dummy9 mtu 1400; ip link set dummy9 address 02:00:00:00:00:09;
  ip link set dummy9 promisc on; ip link set dummy9 promisc off; ifconfig dummy9 allmulti; ip link set dummy9 down; ip link del dummy9' '
  global made, up, sizes, addresses, all, none, changes, down, gone
  probe netdev.register { if (dev_name == "dummy9") made++ }
  probe netdev.open { if (dev_name == "dummy9") up++ }
  probe netdev.change_mtu { if (dev_name == "dummy9" && old_mtu == 1500 && new_mtu == 1400) sizes++ }
  probe netdev.change_mac { if (dev_name == "dummy9" && mac_len == 6 && new_mac == "02:00:00:00:00:09" && strlen(old_mac) == 17) addresses++ }
  probe netdev.set_promiscuity { if (dev_name == "dummy9") { all += enable; none += disable } }
  probe netdev.change_rx_flag { if (dev_name == "dummy9" && (flags == 0x100 || flags == 0x200)) changes++ }
  probe netdev.close { if (dev_name == "dummy9") down++ }
  probe netdev.unregister { if (dev_name == "dummy9") gone++ }
  probe end { printf("%d %d %d %d %d %d %d %d %d\n", made, up, sizes, addresses, all, none, changes, down, gone) }'
counted "netdev of packets" '^50 50 1 1$' 'ifconfig lo >/dev/null; exec causes udp 50' '
  global sent, come, asked, stats
  probe netdev.hard_transmit { if (dev_name == "lo" && protocol == 0x800 && length == 48 && truesize >= length) sent++ }
  probe netdev.rx { if (dev_name == "lo" && protocol == 0x800) come++ }
  probe netdev.ioctl { if (cmd == 0x8913 && arg == "lo") asked++ }
  probe netdev.get_stats { if (dev_name == "lo") stats++ }
  probe end { printf("%d %d %d %d\n", sent, come, asked >= 1, stats >= 1) }'

mkdir -p /ram && mount -t ramfs ram /ram || fail "no ramfs"
# Files: 20 pages of a file come to memory, are read to the end, and leave memory.
counted "vfs" '^20 20 21 20 20$' 'dd if=/dev/zero of=/ram/pages bs=4096 count=20 2>/dev/null; dd if=/ram/pages of=/dev/null bs=4096 2>/dev/null; rm /ram/pages' '
  global added, removed, reads, writes, bytes, file
  probe vfs.open { if (filename == "pages") file = ino }
  probe vfs.add_to_page_cache { if (file && ino == file) added += index == added && page < 0 }
  probe vfs.remove_from_page_cache { if (file && ino == file) removed++ }
  probe vfs.do_sync_read { if (filename == "pages" && len == 4096) reads++ }
  probe vfs.do_sync_write { if (filename == "pages" && len == 4096) writes++ }
  probe vfs.do_sync_write.return { if (filename == "pages" && ret == 4096) bytes++ }
  probe end { printf("%d %d %d %d %d\n", added, removed, reads, writes, bytes) }'

# A disk: 20 direct writes. The cloud kernels have no scheduler that adds or plugs requests: probes of that are armed, and no
# more.
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
dd if=/dev/zero of=/root/disk bs=1M count=4 2>/dev/null && losetup /dev/loop5 /root/disk || fail "no disk"
scheduler=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/block/loop5/queue/scheduler)
counted "ioscheduler" "^20 1 $scheduler\$" 'exec dd if=/dev/zero of=/dev/loop5 bs=4096 count=20 oflag=direct 2>/dev/null' '
  global added, done, plugs, unplugs, named, pieces
  probe ioscheduler.elv_add_request.tp { if (disk_major == 7 && q) added++ }
  probe ioscheduler.elv_completed_request { if (disk_major == 7) { done++; named = elevator_name } }
  probe ioscheduler_trace.plug { if (rq_queue) plugs++ }
  probe ioscheduler_trace.unplug_io { if (rq_queue && depth) unplugs++ }
  probe ioblock.request { if (devname == "loop5" && phys_segments == 1 && hw_segments == 1 && bdev == bdev_contains) pieces++ }
  probe end { printf("%d %d %s\n", done, pieces == 20, named) }'
losetup -d /dev/loop5

# Arguments at the return of a system call, with the values that they had at its begin.
counted "arguments at returns" '^10 10$' 'exec causes pieces 10' '
  global reads, writes
  probe syscall.readv.return { if (pid() == target() && count == 2 && fd >= 3 && retval == 6) reads++ }
  probe syscall.writev.return { if (pid() == target() && count == 2 && argstr =~ "^[0-9]+, 0x.*, 2$" && retval == 6) writes++ }
  probe kernel.trace("sched:sched_process_fork") {}
  probe end { printf("%d %d\n", reads, writes) }'

# Before Linux 6.12 the verifier refuses to walk through the words.
[ "$(uname -r | cut -d. -f1-2)" = 6.1 ] && exit 0
# Who runs: as the program itself prints it. Its words and environment, its cgroup.
mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
digits=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
mkdir -p /sys/fs/cgroup/some/docker-$digits.scope || fail "no cgroup"
number=$(stat -c %i /sys/fs/cgroup/some/docker-$digits.scope)
echo 'probe syscall_any { if (pid() == target() && syscall_nr == 110) {
    printf("%d %d %d %d %d\n", ppid(), pgrp(), sid(), euid(), egid())
    printf("%d %d %d %d %d\n", ns_ppid(), ns_pgrp(), ns_sid(), ns_euid(), ns_egid())
    printf("%d %d %s\n", ns_pid() == pid(), ns_tid() == tid(), pid2execname(ppid()))
    printf("<%s> <%s> <%s>\n", cmdline_str(), cmdline_arg(1), cmdline_args(1, -1, "+"))
    printf("<%s> <%s>\n", env_var("COLOR"), env_var("NONE"))
    printf("%s %d %s\n", cgroup_path(), cgroup_id(), container_id()) } }
  probe syscall_any.return { if (pid() == target() && syscall_nr == 110) printf("returned %d %d\n", syscall_nr, retval == ppid()) }' >/root/facts.stp
out=$(spile /root/facts.stp -c "echo 0 >/sys/fs/cgroup/some/docker-$digits.scope/cgroup.procs; exec env COLOR=blue causes facts 1" 2>&1)
facts=$(echo "$out" | grep -E '^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+$' | sort | uniq -c | awk '{ print $1 }')
[ "${facts%[!0-9]*}" = "$facts" ] && [ "${facts:-0}" -ge 3 ] || fail "facts of a process: $out"
check "names" "$out" '^1 1 spile$'
check "command line" "$out" '^<causes facts 1> <facts> <facts\+1>$'
check "environment" "$out" '^<blue> <>$'
check "cgroup" "$out" "^/some/docker-$digits.scope $number 0123456789ab\$"
check "syscall_any.return" "$out" '^returned 110 1$'
