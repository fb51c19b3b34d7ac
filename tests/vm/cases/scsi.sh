# Commands to a SCSI disk that the kernel simulates in memory: each read of it is a command.
# often: 6.12
# files: examples/kernel
. /guest.sh
for name in scsi_common scsi_mod sd_mod; do insmod /modules/$name.ko || fail "no $name.ko"; done
insmod /modules/scsi_debug.ko dev_size_mb=8 delay=0 || fail "no scsi_debug.ko"
until [ -b /dev/sda ]; do sleep 0.1; done
# Requests are used again: each is seen until it is completed.
out=$(spile -e 'global n, bytes, seen, good
  probe scsi.ioentry { if (disk_major == 8 && disk_minor == 0 && device_state_str == "RUNNING") n["entry"]++ }
  probe scsi.iodispatching { if (data_direction_str == "FROM_DEVICE" && request_bufflen == 65536) { n["dispatching " . device_state_str]++; seen[req_addr] = 1; bytes += request_bufflen * (1 + lun + channel + dev_id) } }
  probe scsi.iodone { if (seen[req_addr]) n["done " . data_direction_str]++ }
  probe scsi.iocompleted { if (seen[req_addr] && data_direction == 2) { good += goodbytes; delete seen[req_addr] } }
  probe scsi.ioexecute { if (data_direction_str == "FROM_DEVICE" && request_bufflen > 0 && request_buffer < 0) n["execute"]++ }
  probe scsi.set_state { n[old_state_str . "=>" . state_str]++ }
  probe end { foreach (what in n) printf("%s %d\n", what, n[what]); printf("%d %d\n", bytes, good) }' \
  -c 'dd if=/dev/sda of=/dev/null bs=65536 count=16 iflag=direct 2>/dev/null; cd /sys/block/sda/device; echo 1 >rescan; echo offline >state; echo running >state' 2>&1)
check "dispatched" "$out" '^dispatching RUNNING 16$'
check "done" "$out" '^done FROM_DEVICE 16$'
check "bytes" "$out" '^1048576 1048576$'
check "entries" "$out" '^entry [1-9][0-9]+$'
check "the kernel's own commands" "$out" '^execute [1-9]'
check "states" "$out" '^RUNNING=>OFFLINE 1$'
check "states" "$out" '^OFFLINE=>RUNNING 1$'

# The tools for disks, on this one: 16 reads, and those by which the kernel itself looks at the disk's end.
reads='dd if=/dev/sda of=/dev/null bs=65536 count=16 iflag=direct 2>/dev/null'
shows biosnoop '^[0-9]+ +dd +8:0 +R[A-Z]* +[0-9]+ +65536 +[0-9]+$' 16 "$reads"
out=$(spile $tools/biolatency.stp -c "$reads" 2>&1)
check biolatency "$out" '^device 8:0$'
[ "$(all_of "$out")" -ge 16 ] && [ "$(all_of "$out")" -le 20 ] || fail "biolatency: $out"
out=$(spile $tools/slowio.stp 0 -c "$reads" 2>&1)
[ "$(echo "$out" | grep -Ec '^[0-9]+ +[0-9]+ +dd +sda +read +[0-9]+ +65536 +[0-9]+ +[0-9]+$')" = 16 ] || fail "slowio: $out"
case $(uname -r) in
  6.1.*) ;;
  *) out=$(spile $tools/biostacks.stp -c "$reads" 2>&1)
    check biostacks "$out" '^1[6-9] requests, [0-9]+ us on average:$'
    check "its stacks" "$out" ' : vfs_read\+' ;;
esac
