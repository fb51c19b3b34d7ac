# Aliases of the library that no other case counts, each with a cause that is counted.
# often: 6.1
. /guest.sh
ip link set lo up
mkdir -p /ram && mount -t ramfs ram /ram || fail "no ramfs"

# counted WHAT PATTERN COMMAND SCRIPT: what the script prints while the command runs.
counted() {
  out=$(spile -e "$4" -c "$3" 2>&1)
  check "$1" "$out" "$2"
}

# A shell makes 5 children, which execute a program and end.
counted "processes" '^5 5 5 1 1 5$' 'for i in 1 2 3 4 5; do /usr/bin/true; done; sleep 1' '
  global made, asked, done, freed, released, woken
  probe kprocess.create { if (pid() == target()) made[new_pid]++ }
  probe kprocess.exec { if (pid() in made && filename == "\"/usr/bin/true\"") asked++ }
  probe kprocess.exec_complete { if (pid() in made && execname() == "true" && success && errno == 0) done++ }
  probe scheduler.process_free { if (pid in made && priority == 120) freed++ }
  probe kprocess.release { if (released_pid in made && released_pid == released_tid) released++ }
  probe scheduler.wakeup_new { if (pid() == target() && task_pid == task_tid && task_priority == 120 && task_pid in made) woken++ }
  probe end { n = 0; foreach (p in made) n++; printf("%d %d %d %d %d %d\n", n, asked, done, freed >= 5, released >= 5, woken) }'

# Sockets: 5 messages of 6 bytes by TCP, 50 by UDP, 10 by files.
counted "tcp" '^30 5 1$' 'exec causes tcp 5' '
  global bytes, reads, closed
  probe tcp.sendmsg.return { if (pid() == target() && size == 6) bytes += size }
  probe tcp.recvmsg { if (pid() == target() && size == 100 && family == 2) reads++ }
  probe socket.close.return { if (pid() == target() && name == "socket.close") closed++ }
  probe end { printf("%d %d %d\n", bytes, reads, closed >= 3) }'
counted "udp" '^300 50$' 'exec causes udp 50' '
  global bytes, reads
  probe udp.sendmsg.return { if (pid() == target()) bytes += size }
  probe udp.recvmsg { if (pid() == target() && size >= 6 && family == 2) reads++ }
  probe end { printf("%d %d\n", bytes, reads) }'
counted "sockets as files" '^20 20 20$' 'exec causes files 10' '
  global reads, writes, begun
  probe socket.aio_read.return { if (pid() == target() && size == 6 && success) reads++ }
  probe socket.write_iter.return { if (pid() == target() && size == 6 && success) writes++ }
  probe socket.aio_write { if (pid() == target() && size == 6) begun++ }
  probe end { printf("%d %d %d\n", reads, writes, begun) }'

counted "signals" '^1 1 1 1$' 'exec causes actions 10' '
  global actions, masks, tkills, looks
  probe signal.do_action.return { if (pid() == target() && retstr == "0") actions++ }
  probe signal.procmask.return { if (pid() == target() && retstr == "0") masks++ }
  probe signal.sys_tkill.return { if (pid() == target() && retstr == "0") tkills++ }
  probe signal.check_ignored { if (pid() == target() && sig == 12 && sig_pid == pid()) looks++ }
  probe end { printf("%d %d %d %d\n", actions >= 20, masks >= 10, tkills >= 10, looks >= 30) }'

# 20 pages of a file are written.
counted "files" '^20 81920 20 20 21 200 200$' 'dd if=/dev/zero of=/ram/pages bs=4096 count=20 2>/dev/null; dd if=/ram/pages of=/dev/null bs=4096 2>/dev/null; exec dd if=/dev/zero of=/dev/null bs=1 count=200 2>/dev/null' '
  global writes, bytes, added, sizes, reads, calls, gets
  probe vfs.write { if (filename == "pages" && bytes_to_write == 4096) writes++ }
  probe vfs.write.return { if (filename == "pages" && !error) bytes += bytes_written }
  probe vfs.add_to_page_cache.return { if (execname() == "dd" && retstr == "0" && nrpages > 0 && devname == "N/A") { added++; sizes += index == added - 1 } }
  probe vfs.do_sync_read.return { if (filename == "pages" && len == 4096) reads++ }
  probe kernel.syscall("write") { if (execname() == "dd" && byte_count == 1 && fd == 1) calls++ }
  probe kernel.syscall("read") { if (execname() == "dd" && byte_count == 1 && fd == 0) gets++ }
  probe end { printf("%d %d %d %d %d %d %d\n", writes, bytes, added, sizes, reads, calls, gets) }'

# Memory: what the calls ask for; of the kernel, what a process takes it gives back.
counted "vm" '^1 1 1 1 1$' 'causes brk 3; exec causes files 300' '
  global maps, unmaps, calls, taken, sized, returned, kfrees
  probe vm.mmap { if (execname() == "causes" && length > 0) maps++ }
  probe vm.munmap { if (execname() == "causes" && length > 0) unmaps++ }
  probe syscall.mmap2 { if (execname() == "causes") calls++ }
  probe syscall.munmap { if (execname() == "causes") calls += 1000 }
  probe vm.kmem_cache_alloc { if (pid() == target() && execname() == "causes") { taken++; sized += bytes_alloc >= bytes_req && ptr < 0 } }
  probe vm.kmem_cache_free { if (pid() == target() && execname() == "causes" && ptr < 0) returned++ }
  probe vm.kfree { if (pid() == target() && execname() == "causes" && call_site < 0) kfrees++ }
  probe end { printf("%d %d %d %d %d\n", maps > 0 && calls == maps + 1000 * unmaps, taken > 600, sized == taken, returned > 600, kfrees > 0) }'
counted "vm.oom_kill" '^1$' 'sh -c "echo 1000 >/proc/self/oom_score_adj; exec sleep 9" & sleep 1; echo f >/proc/sysrq-trigger; sleep 0.5' '
  global n probe vm.oom_kill { if (task_execname(task) == "sleep" && task_pid(task) == pid) n++ } probe end { printf("%d\n", n) }'

# A shell goes from one processor to the other 10 times; a file system ends its thread of the kernel.
counted "scheduler.migrate" '^1$' 'for i in 1 2 3 4 5; do taskset -p 1 $$; sleep 0.05; taskset -p 2 $$; sleep 0.05; done >/dev/null' '
  global n probe scheduler.migrate { if (pid == target() && cpu_from != cpu_to && priority == 120) n++ } probe end { printf("%d\n", n >= 9) }'
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
dd if=/dev/zero of=/ram/disk bs=1M count=8 2>/dev/null && losetup /dev/loop4 /ram/disk && mke2fs -j /dev/loop4 >/dev/null 2>&1 || mke2fs /dev/loop4 >/dev/null 2>&1 || fail "no file system"
counted "scheduler.kthread_stop" '^1 1$' 'insmod /modules/libcrc32c.ko; insmod /modules/xfs.ko; insmod /modules/md-mod.ko; rmmod md-mod; rmmod xfs' '
  global asked, ended probe scheduler.kthread_stop { if (thread_pid > 0 && thread_priority <= 120) asked++ } probe scheduler.kthread_stop.return { ended++ }
  probe end { printf("%d %d\n", asked > 0, ended == asked) }'
losetup -d /dev/loop4

counted "software counters" '^1 1 1 1 1 1$' 'exec causes pages 2000' '
  global faults, minor, switches, clock, task, major
  probe perf.sw.page_faults.sample(10) { if (pid() == target()) faults++ }
  probe perf.sw.page_faults_min.sample(10) { if (pid() == target()) minor++ }
  probe perf.sw.page_faults_maj { major++ }
  probe perf.sw.context_switches.sample(1) { switches++ }
  probe perf.sw.cpu_clock.sample(1000000) { clock++ }
  probe perf.sw.task_clock.sample(1000000) { task++ }
  probe end { printf("%d %d %d %d %d %d\n", faults >= 190 && faults < 260, minor >= 190 && minor < 260, switches > 0, clock > 0, task > 0, major < 9) }'

[ "$(uname -r | cut -d. -f1-2)" = 6.1 ] && exit 0
# Hooks of netfilter: each of 5 pings is a request and an answer.
for family in ipv4 ipv6; do
  if [ $family = ipv4 ]; then there=127.0.0.1 number=1; else there=::1 number=58; fi
  counted "netfilter.$family" '^10 10 10 10 0$' "ping -c 5 -i 0.05 $there >/dev/null" "
    global before, ins, out, behind, passed
    probe netfilter.$family.pre_routing { if (protocol == $number && saddr == daddr) before++ }
    probe netfilter.$family.local_in { if (protocol == $number && indev_name == \"lo\") ins++ }
    probe netfilter.$family.local_out { if (protocol == $number && length >= 84) out++ }
    probe netfilter.$family.post_routing { if (protocol == $number && outdev_name == \"lo\") behind++ }
    probe netfilter.$family.forward { passed++ }
    probe end { printf(\"%d %d %d %d %d\\n\", before, ins, out, behind, passed) }"
done
counted "netfilter.ip" '^10 10 10 10$' 'ping -c 5 -i 0.05 127.0.0.1 >/dev/null' '
  global before, ins, out, behind
  probe netfilter.ip.pre_routing { before += protocol == 1 }
  probe netfilter.ip.local_in { ins += protocol == 1 }
  probe netfilter.ip.local_out { out += protocol == 1 }
  probe netfilter.ip.post_routing { behind += protocol == 1 }
  probe end { printf("%d %d %d %d\n", before, ins, out, behind) }'
# A router passes 7 packets on.
insmod /modules/dummy.ko numdummies=1 && ip addr add 10.8.0.1/24 dev dummy0 && ip link set dummy0 up || fail "no dummy0"
for name in ip_forward conf/all/rp_filter conf/lo/rp_filter; do [ $name = ip_forward ] && value=1 || value=0; echo $value >/proc/sys/net/ipv4/$name; done
ip route add 10.9.0.0/24 dev lo
counted "netfilter of a router" '^7 7$' 'packets 10.9.0.1 10.8.0.5 253 40 0 7; sleep 0.2' '
  global four, any
  probe netfilter.ipv4.forward { if (saddr == "10.9.0.1" && daddr == "10.8.0.5" && protocol == 253 && indev_name == "lo" && outdev_name == "dummy0") four++ }
  probe netfilter.ip.forward { any += protocol == 253 }
  probe end { printf("%d %d\n", four, any) }'
