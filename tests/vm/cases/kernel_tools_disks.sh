# Tools of examples/kernel for files, disks and memory, each with a cause that is counted.
# often: 6.12
# files: examples/kernel
. /guest.sh
old=$(uname -r | grep -c '^6\.1\.')

# Three names that do not exist, each looked up once; one that does, three times.
echo text >/etc/something
shows dcsnoop ' cat +0 +nothing[123]$' 3 'for i in 1 2 3; do cat /etc/nothing$i 2>/dev/null; done'
shows dcsnoop ' cat +1 +something$' 3 'for i in 1 2 3; do cat /etc/something; done'

# A disk: each direct write is a request.
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
mkdir -p /mnt && mount -t ramfs none /mnt
dd if=/dev/zero of=/mnt/disk bs=1M count=32 2>/dev/null && losetup /dev/loop0 /mnt/disk || fail "no disk"
writes='dd if=/dev/zero of=/dev/loop0 bs=4096 count=20 oflag=direct 2>/dev/null'
line='^[0-9]+ +[0-9]+ +dd +loop0 +write +[0-9]+ +4096 +[0-9]+ +[0-9]+$'
out=$(spile $tools/slowio.stp 0 -c "$writes" 2>&1)
[ "$(echo "$out" | grep -Ec "$line")" = 20 ] || fail "slowio: $out"
out=$(spile $tools/slowio.stp 20000 -c "$writes" 2>&1)
[ "$(echo "$out" | grep -Ec "$line")" = 0 ] || fail "slowio of more than 20 s: $out"
if [ $old = 0 ]; then
  out=$(spile $tools/biostacks.stp -c "$writes" 2>&1)
  check biostacks "$out" '^2[0-4] requests, [0-9]+ us on average:$'
  check "its stacks" "$out" ' : vfs_write\+'
  [ "$(all_of "$out")" -ge 20 ] && [ "$(all_of "$out")" -le 24 ] || fail "biostacks: $out"
fi
# 50 times 100 KiB are read and written; 100 times 4 KiB go to the disk.
out=$(spile $tools/iotop.stp 2 -c 'dd if=/dev/zero of=/dev/null bs=100k count=50 2>/dev/null; dd if=/dev/zero of=/dev/loop0 bs=4k count=100 oflag=direct 2>/dev/null; sleep 3' 2>&1)
check iotop "$out" '^[0-9]+ +dd +50[0-9][0-9] +5000 +0$'
check "iotop of a disk" "$out" '^[0-9]+ +dd +4[0-9][0-9] +400 +400$'

# 100 pages of a file.
mke2fs /dev/loop0 >/dev/null 2>&1 && mkdir -p /disk && mount -t ext4 /dev/loop0 /disk || fail "no file system"
out=$(spile $tools/writeback.stp -c 'dd if=/dev/zero of=/disk/f bs=4096 count=100 2>/dev/null; sync; sleep 0.5' 2>&1)
pages=$(echo "$out" | awk '$2 == "7:0" && $5 == "WB_REASON_SYNC" { n += $3 } END { print n + 0 }')
[ "$pages" -ge 100 ] && [ "$pages" -le 130 ] || fail "writeback: $pages pages: $out"
umount /disk

# 4,000,000 bytes are swapped out and read again, page by page.
mkswap /dev/loop0 >/dev/null && swapon /dev/loop0 && echo 0 >/proc/sys/vm/page-cluster || fail "no swap"
mkdir -p /groups && mount -t cgroup2 none /groups && echo +memory >/groups/cgroup.subtree_control && mkdir /groups/small || fail "no cgroup"
cat >/tmp/swap.sh <<'TEXT'
echo $$ >/groups/small/cgroup.procs
x=$(head -c 4000000 /dev/zero | tr '\0' a)
echo 20M >/groups/small/memory.reclaim 2>/dev/null
y=${#x}
sleep 1.5
TEXT
out=$(spile $tools/swapin.stp -c 'sh /tmp/swap.sh' 2>&1)
reads=$(echo "$out" | awk '$3 == "sh" { n += $4 } END { print n + 0 }')
[ "$reads" -ge 900 ] && [ "$reads" -le 1100 ] || fail "swapin: $reads: $out"
swapoff /dev/loop0

# A mirror of two disks, which is told to write all three times.
losetup -d /dev/loop0
for i in 1 2; do dd if=/dev/zero of=/mnt/disk$i bs=1M count=8 2>/dev/null; losetup /dev/loop$i /mnt/disk$i; done
insmod /modules/md-mod.ko && insmod /modules/raid1.ko && echo md_x >/sys/module/md_mod/parameters/new_array || fail "no RAID"
cd /sys/block/md_x/md
echo raid1 >level; echo 2 >raid_disks; echo none >metadata_version; echo 4096 >component_size; echo 7:1 >new_dev; echo 7:2 >new_dev
echo 0 >dev-loop1/slot; echo 1 >dev-loop2/slot; echo none >resync_start; echo active >array_state
cd /tmp
shows mdflush '^[0-9]+ +[0-9]+ +dd +md_x$' 3 'for i in 1 2 3; do dd if=/dev/zero of=/dev/md_x count=8 conv=fsync 2>/dev/null; done'

