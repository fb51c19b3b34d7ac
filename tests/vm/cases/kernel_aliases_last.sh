# Aliases of the library whose causes need a disk, a driver or a thread of the kernel of their own. docs/library.md says why the
# few others can't be tried.
. /guest.sh
ip link set lo up
mkdir -p /ram && mount -t ramfs ram /ram || fail "no ramfs"
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"

# counted WHAT PATTERN COMMAND SCRIPT: what the script prints while the command runs.
counted() {
  out=$(spile -e "$4" -c "$3" 2>&1)
  check "$1" "$out" "$2"
}

# Three times a driver of terminals comes and goes.
counted "tty.register" '^3 3 0$' 'for i in 1 2 3; do insmod /modules/ttyprintk.ko; rmmod ttyprintk; done' '
  global come, gone, others
  probe tty.register { if (driver_name == "ttyprintk" && name == "ttyprintk" && module == "ttyprintk" && index == 0) come++; else others++ }
  probe tty.unregister { if (driver_name == "ttyprintk" && name == "ttyprintk" && module == "ttyprintk") gone++; else others++ }
  probe end { printf("%d %d %d\n", come, gone, others) }'

# Counters of processor 0 with rings: each an object, and memory for its ring, of that processor node.
counted "memory of a node" '^20 20 1$' 'exec causes counters 20' '
  global objects, rings, sizes, all
  probe vm.kmem_cache_alloc_node { if (pid() == target() && name == "kmem_cache_alloc_node") { objects[call_site]++; all++; sizes += bytes_alloc >= bytes_req && ptr < 0 } }
  probe vm.kmalloc_node { if (pid() == target() && name == "kmalloc_node") { rings[call_site]++; all++; sizes += bytes_alloc >= bytes_req && ptr < 0 } }
  probe end {
    foreach (site in objects) if (symname(site) =~ "^perf_event_alloc") n += objects[site]
    foreach (site in rings) if (symname(site) =~ "^rb_alloc") m += rings[site]
    printf("%d %d %d\n", n, m, sizes == all)
  }'

counted "tcp.ipv6.receive" '^1 1 5 1$' 'exec causes tcp6 5' '
  global asks, grants, data, same, all
  probe tcp.ipv6.receive { if (saddr == "0000:0000:0000:0000:0000:0000:0000:0001" && daddr == saddr && family == 10 && sport && dport) { asks += syn && !ack; grants += syn && ack; data += psh; same++ } }
  probe tcp.receive { if (family == 10 && name == "tcp.receive") all++ }
  probe end { printf("%d %d %d %d\n", asks, grants, data, all == same) }'
counted "tcp.ipv4.receive" '^5 0$' 'exec causes tcp 5' '
  global data, six
  probe tcp.ipv4.receive { if (name == "tcp.ipv4.receive" && saddr == "127.0.0.1") data += psh }
  probe tcp.ipv6.receive { six++ }
  probe end { printf("%d %d\n", data, six) }'

# Children that a script counts by the name that the function had until Linux 4.2.
counted "do_fork" '^5$' 'for i in 1 2 3 4 5; do /usr/bin/true; done' 'global n probe kernel.function("do_fork") { if (pid() == target()) n++ } probe end { printf("%d\n", n) }'
check "do_fork" "$out" "^warning: the function 'do_fork' has another name in this kernel: 'kernel_clone' is probed$"

# A shell goes from one processor to the other 10 times.
counted "perf.sw.cpu_migrations" '^1$' 'for i in 1 2 3 4 5; do taskset -p 1 $$; sleep 0.05; taskset -p 2 $$; sleep 0.05; done >/dev/null' '
  global n probe perf.sw.cpu_migrations.sample(1) { if (pid() == target()) n++ } probe end { printf("%d\n", n >= 5) }'

# A disk over a file system with room for 8 writes, and the page of its end: 4 more fail, each one request.
mkdir -p /small && mount -t tmpfs -o size=1028k small /small && dd if=/dev/zero of=/small/disk bs=1 count=1 seek=16777215 2>/dev/null && losetup /dev/loop4 /small/disk || fail "no disk"
counted "requests that fail" '^4 12$' 'for i in 0 1 2 3 4 5 6 7 8 9 10 11; do dd if=/dev/zero of=/dev/loop4 bs=131072 count=1 seek=$i oflag=direct 2>/dev/null; done' '
  global failed, names
  probe ioscheduler_trace.elv_abort_request { if (disk_major == 7 && disk_minor == 4) failed++ }
  probe ioscheduler_trace.elv_completed_request { if (disk_major == 7 && disk_minor == 4) names++ }
  probe end { printf("%d %d\n", failed, names) }'
losetup -d /dev/loop4

# A disk that is busy at each 4th command, until it is asked again: as often as the tracepoint says.
for name in scsi_common scsi_mod sd_mod; do insmod /modules/$name.ko || fail "no $name.ko"; done
insmod /modules/scsi_debug.ko dev_size_mb=8 delay=0 || fail "no scsi_debug.ko"
until [ -b /dev/sda ]; do sleep 0.1; done
echo 0x8000 >/sys/bus/pseudo/drivers/scsi_debug/opts && echo 4 >/sys/bus/pseudo/drivers/scsi_debug/every_nth || fail "no busy disk"
counted "requests that are put back" '^1 1 1$' 'exec dd if=/dev/sda of=/dev/null bs=65536 count=16 iflag=direct 2>/dev/null' '
  global back, traced, done
  probe ioscheduler_trace.elv_requeue_request { if (disk_major == 8 && disk_minor == 0 && rq && name == "ioscheduler_trace.elv_requeue_request") back++ }
  probe kernel.trace("block:block_rq_requeue") { traced++ }
  probe ioscheduler_trace.elv_completed_request { if (disk_major == 8) done++ }
  probe end { printf("%d %d %d\n", back >= 4, back == traced, done >= 16) }'

# The thread of a mirrored disk takes signals as news only. One that comes while another is pending is none.
for i in 5 6; do dd if=/dev/zero of=/ram/mirror$i bs=1M count=8 2>/dev/null && losetup /dev/loop$i /ram/mirror$i || fail "no disk"; done
insmod /modules/md-mod.ko && insmod /modules/raid1.ko && echo md_x >/sys/module/md_mod/parameters/new_array || fail "no RAID"
cd /sys/block/md_x/md
echo raid1 >level; echo 2 >raid_disks; echo none >metadata_version; echo 4096 >component_size; echo 7:5 >new_dev; echo 7:6 >new_dev
echo 0 >dev-loop5/slot; echo 1 >dev-loop6/slot; echo none >resync_start; echo active >array_state
cd /
thread=$(ps | sed -n 's/^ *\([0-9]*\) .*\[md_x_raid1\].*/\1/p')
[ -n "$thread" ] || fail "no thread of the RAID"
taken="while grep -q 'Pnd:.*[1-9a-f]' /proc/$thread/status; do usleep 20000; done"
counted "signal.flush" '^3 0$' "for i in 1 2 3; do kill -9 $thread; $taken; done" "
  global n, others
  probe signal.flush { if (sig_pid == $thread && pid_name == \"md_x_raid1\" && task == task_current() && name == \"flush\") n++; else others++ }
  probe end { printf(\"%d %d\\n\", n, others) }"

# A piece of memory, of 128 MiB, that has nothing but what can move: files' pages go there first, and move when it is taken away.
# Some piece can be taken away as it is.
for piece in /sys/devices/system/memory/memory[0-9]*; do
  echo offline >$piece/state && echo online_movable >$piece/state && break
done 2>/dev/null
grep -q Movable $piece/valid_zones || fail "no memory for what can move: $(cat /sys/devices/system/memory/memory*/valid_zones)"
dd if=/dev/zero of=/ram/disk bs=1M count=24 2>/dev/null && losetup /dev/loop3 /ram/disk || fail "no disk"
mke2fs /dev/loop3 >/dev/null 2>&1 && mkdir -p /blocks && mount -t ext4 /dev/loop3 /blocks || fail "no file system"
dd if=/dev/zero of=/blocks/file bs=4096 count=5 2>/dev/null && sync || fail "no file"
inode=$(stat -c %i /blocks/file)
counted "vfs.buffer_migrate_page" '^5 1 0$' "for i in 1 2 3 4 5; do echo offline >$piece/state && break; done" "
  global n, wrong, pages
  probe vfs.buffer_migrate_page {
    if (ino == $inode && devname == \"loop3\") { n++; pages[index]++; if (index < 0 || index >= 5) wrong++ }
  }
  probe end { foreach (page in pages) m++; printf(\"%d %d %d\\n\", m, n >= 5, wrong) }"
echo online >$piece/state
# Modules can be unloaded again: what uses their disks is ended.
cd /
umount /blocks /small 2>/dev/null
echo clear >/sys/block/md_x/md/array_state 2>/dev/null || echo inactive >/sys/block/md_x/md/array_state
for loop in 3 4 5 6; do losetup -d /dev/loop$loop 2>/dev/null; done
true
