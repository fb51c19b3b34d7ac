# The tool of examples/kernel for XFS.
# often: 6.12
# files: examples/kernel
# programs: mkfs.xfs
. /guest.sh

[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
insmod /modules/libcrc32c.ko && insmod /modules/xfs.ko || fail "no xfs.ko"
truncate -s 400M /root/xfs && losetup /dev/loop7 /root/xfs && mkfs.xfs -q /dev/loop7 && mkdir -p /xfs && mount -t xfs /dev/loop7 /xfs || fail "no file system"
# 5 files are written, 10 blocks each, and read: ten blocks and the end.
out=$(spile $tools/xfsdist.stp -c 'for i in 1 2 3 4 5; do
  dd if=/dev/zero of=/xfs/f$i bs=4096 count=10 conv=fsync 2>/dev/null; dd if=/xfs/f$i of=/dev/null bs=4096 2>/dev/null; done' 2>&1)
check opens "$out" '^xfs_file_open: 10, [0-9]+ us on average, [0-9]+ at most$'
check writes "$out" '^xfs_file_write_iter: 50, '
check fsyncs "$out" '^xfs_file_fsync: 5, '
check reads "$out" '^xfs_file_read_iter: 55, '
[ "$(all_of "$out")" = 120 ] || fail "histograms of $(all_of "$out"): $out"
umount /xfs
losetup -d /dev/loop7
