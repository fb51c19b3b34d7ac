# Aliases of the library over functions and tracepoints of the kernel, each with a cause that is counted.
. /guest.sh
ip link set lo up

# counted WHAT PATTERN COMMAND SCRIPT: what the script prints while the command runs.
counted() {
  out=$(spile -e "$4" -c "$3" 2>&1)
  check "$1" "$out" "$2"
}

# Sockets: 5 messages of 6 bytes by TCP; two sockets are made, and one more is accepted.
counted "socket.send and receive" '^5 30 5 30 5 5$' 'exec causes tcp 5' '
  global asked, bytes, sent, sent_bytes, got, got_bytes, of_tcp, room
  probe socket.sendmsg { if (pid() == target() && name == "socket.sendmsg") { asked++; bytes += size; of_tcp += family == 2 && type == 1 && protocol == 6 && state == 3 } }
  probe socket.send { if (pid() == target() && success) { sent++; sent_bytes += size } }
  probe socket.recvmsg { if (pid() == target() && size == 100 && flags == 0) room++ }
  probe socket.receive { if (pid() == target() && success && protocol == 6) { got++; got_bytes += size } }
  probe end { printf("%d %d %d %d %d %d\n", asked, sent_bytes, got, got_bytes, of_tcp, room) }'
counted "socket.create and close" '^2 2 3 5 5$' 'exec causes tcp 5' '
  global made, good, closed, sent, got
  probe socket.create { if (pid() == target() && family == 2 && type == 1 && requester == 0) made++ }
  probe socket.create.return { if (pid() == target() && success && err == 0) good++ }
  probe socket.close { if (pid() == target() && protocol == 6 && family == 2 && type == 1) closed++ }
  probe socket.sendmsg.return { if (pid() == target() && size == 6) sent++ }
  probe socket.recvmsg.return { if (pid() == target() && size == 6) got++ }
  probe end { printf("%d %d %d %d %d\n", made, good, closed, sent, got) }'

# Segments: one asks for the connection, one grants it, two end it, and 5 have data; by UDP each message is a packet.
counted "tcp.receive" '^1 1 [12] 5 0$' 'exec causes tcp 5' '
  global asks, grants, ends, data, resets
  probe tcp.receive { if (saddr == "127.0.0.1" && daddr == "127.0.0.1" && sport && dport && iphdr) { asks += syn && !ack; grants += syn && ack; ends += fin; data += psh; resets += rst } }
  probe end { printf("%d %d %d %d %d\n", asks, grants, ends, data, resets) }'
counted "udp and netdev.receive" '^50 300 50 300 5[0-9]$' 'exec causes udp 50' '
  global sent, bytes, got, got_bytes, packets
  probe udp.sendmsg { if (pid() == target() && family == 2) { sent++; bytes += size } }
  probe udp.recvmsg.return { if (pid() == target()) { got++; got_bytes += size } }
  probe netdev.receive { if (dev_name == "lo" && protocol == 0x800 && length >= 34) packets++ }
  probe end { printf("%d %d %d %d %d\n", sent, bytes, got, got_bytes, packets) }'
counted "softirq" '^(4[5-9]|5[0-9]) 1$' 'exec causes udp 50' '
  global begun, ended
  probe softirq.entry { if (pid() == target() && vec_nr == 3 && vec_name == "NET_RX") begun++ }
  probe softirq.exit { if (pid() == target() && vec_nr == 3) ended++ }
  probe end { printf("%d %d\n", begun, ended == begun) }'
counted "functions of softirqs" '^net_rx_action 0 1$' 'exec causes udp 50' '
  global functions, wrong, counts
  probe softirq.entry, softirq.exit { if (pid() == target() && vec_nr == 3) { functions[action] = 1; counts[pn()]++; if (h != vec + 3 * 8) wrong++ } }
  probe end { foreach (f in functions) printf("%s %d %d\n", symname(f), wrong, counts["softirq.entry"] == counts["softirq.exit"]) }'

# Files.
echo text >/tmp/something
counted "vfs.open" '^3$' 'for i in 1 2 3; do cat /tmp/something; done >/dev/null' '
  global n probe vfs.open { if (filename == "something" && ino > 0) n++ } probe end { println(n) }'
counted "vfs.readv and writev" '^30 30 180 180 0$' 'exec causes pieces 30' '
  global reads, writes, got, put, wrong
  probe vfs.readv { if (pid() == target() && vlen == 2 && filename == "zero" && vec) reads++ }
  probe vfs.writev { if (pid() == target() && vlen == 2 && filename == "null" && devname == "N/A") writes++ }
  probe vfs.readv.return { if (pid() == target()) { got += bytes_read; wrong += error } }
  probe vfs.writev.return { if (pid() == target()) { put += bytes_written; wrong += error } }
  probe end { printf("%d %d %d %d %d\n", reads, writes, got, put, wrong) }'

# A disk: 20 direct writes.
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
dd if=/dev/zero of=/root/disk bs=1M count=4 2>/dev/null && losetup /dev/loop6 /root/disk || fail "no disk"
writes='exec dd if=/dev/zero of=/dev/loop6 bs=4096 count=20 oflag=direct 2>/dev/null'
counted "ioblock" '^20 81920 20 20 20 20$' "$writes" '
  global asked, bytes, done, traced, ended, whole
  probe ioblock.request { if (devname == "loop6" && rw == 1) { asked++; bytes += size } }
  probe ioblock.end { if (devname == "loop6" && rw == 1 && error == 0) done++ }
  probe ioblock_trace.request { if (devname == "loop6" && rw == 1 && size == 4096 && q) { traced++; whole += bdev == bdev_contains && p_start_sect == 0 } }
  probe ioblock_trace.end { if (devname == "loop6" && rw == 1) ended++ }
  probe end { printf("%d %d %d %d %d %d\n", asked, bytes, done, traced, ended, whole) }'
counted "ioscheduler_trace" '^20 20$' "$writes" '
  global issued, done
  probe ioscheduler_trace.elv_issue_request { if (disk_major == 7 && rq) issued++ }
  probe ioscheduler_trace.elv_completed_request { if (disk_major == 7) done++ }
  probe end { printf("%d %d\n", issued, done) }'
# Writes are works of the loop device's. A worker that is not done yet takes the next write along.
counted "workqueue" '^1 1$' "$writes" '
  global queued, executed, queues
  probe workqueue.insert { if (work_func) { queued++; queues[work] = 1 } }
  probe workqueue.execute { if (work in queues && wq_thread) executed++ }
  probe end { printf("%d %d\n", queued > 0, executed > 0 && executed <= queued) }'
losetup -d /dev/loop6

# Memory.
counted "vm.brk" '^30 1$' 'exec causes brk 30' '
  global n, rising, last
  probe vm.brk { if (pid() == target() && length == 4096 && execname() == "causes") { n++; rising += address > last; last = address } }
  probe end { printf("%d %d\n", n, rising == n) }'
counted "vm.pagefault.return, and vm.pagefault with $vma" '^1 0 1$' 'exec causes pages 500' '
  global n, major, inside
  probe vm.pagefault.return { if (pid() == target() && execname() == "causes") { n++; major += fault_type >> 2 & 1 } }
  probe vm.pagefault { if (pid() == target() && execname() == "causes") inside += $vma->vm_start <= address && address < $vma->vm_end && write_access <= 1 }
  probe end { printf("%d %d %d\n", n >= 500 && n < 650, major, inside >= 500 && inside < 650) }'

# The scheduler: 20 sleeps of one thread, and one that counts to 200,000, with 250 ticks each second.
counted "scheduler.cpu_on" '^1 1 1$' 'exec causes mutex 20' '
  global n, idles, looks
  probe scheduler.cpu_on { if (pid() == target() && !idle && task_prev < 0) n++; idles += idle }
  probe scheduler.balance { looks++ }
  probe end { printf("%d %d %d\n", n >= 20, idles >= 10, looks >= 10) }'
counted "scheduler.tick" '^1 0 1$' 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' '
  global n, idles, others
  probe scheduler.tick { if (pid() == target()) { n++; idles += idle } else others++ }
  probe end { printf("%d %d %d\n", n >= 50, idles, others > 0) }'

# Interrupts: those of the serial port, as the kernel counts them.
line=$(grep -E 'ttyS1?$' /proc/interrupts | head -1 | awk '{ print $1 + 0 }')
total() { awk -v line="$line:" '$1 == line { print $2 + $3 }' /proc/interrupts; }
before=$(total)
out=$(spile -e "global begun, ended, device probe irq_handler.entry { if (irq == $line && handler) { begun++; device = kernel_string(dev_name) } }
  probe irq_handler.exit { if (irq == $line) ended += ret == 1 } probe end { printf(\"%d %d %s\n\", begun, ended, device) }" \
  -c 'for i in 1 2 3 4 5; do echo "$i: a line for the serial port, which it sends piece by piece"; done >/dev/ttyS1; sleep 0.3' 2>&1)
after=$(total)
set -- $(echo "$out" | grep -E '^[0-9]+ [0-9]+ ttyS')
[ "${1:-0}" -ge 1 ] && [ "$1" -le $((after - before)) ] && [ "$2" -le "$1" ] && [ "$2" -ge 1 ] || fail "irq_handler of $line, $before to $after: $out"
