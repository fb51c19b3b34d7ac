# Functions of loaded modules, and what is said where a function can't be probed.
. /guest.sh

refused() { # refused WHAT PATTERN SCRIPT...: the run fails, with these words.
  what=$1 pattern=$2
  shift 2
  out=$("$@" 2>&1 </dev/null) && fail "$what was not refused"
  check "$what" "$out" "$pattern"
}

refused "a module that is not loaded" "the module 'loop' is not loaded" spile -e 'probe module("loop").function("lo_ioctl") {}' -c true
# Of a module that loads later: armed when it is loaded, before its own code runs, and again when it is loaded anew; nothing is
# left in tracefs.
mkdir -p "/lib/modules/$(uname -r)"
echo "kernel/drivers/block/loop.ko:" >"/lib/modules/$(uname -r)/modules.dep"
echo "p:spile_99999/p0 vfs_read" >>/sys/kernel/tracing/kprobe_events
spile -v -o /tmp/later -e 'global c, r, begun, seen probe module("loop").function("lo_ioctl") { if (execname() == "losetup") { c["calls"]++; if (!seen[pid()]++) c["processes"]++ } } probe module("loop").function("lo_ioctl").return { if (execname() == "losetup") r++ }
  probe module("loop").function("loop_add") { c["add"]++ }
  probe timer.ms(50) { if (!begun++) println("armed") } probe end { printf("by %d processes, returned %d, added %d\n", c["processes"], r - c["calls"], c["add"] > 0) }' 2>/tmp/later.messages &
later=$!
until grep -q armed /tmp/later 2>/dev/null; do kill -0 $later || fail "$(cat /tmp/later.messages)"; sleep 0.2; done
for turn in 1 2; do
  insmod /modules/loop.ko || fail "no loop.ko"
  losetup /dev/loop0 /bin/busybox
  losetup -d /dev/loop0
  rmmod loop || fail "loop can't be unloaded"
done
kill -INT $later
wait $later
check "a module that loads later" "$(cat /tmp/later)" '^by 4 processes, returned 0, added 1$'
check "what waits" "$(cat /tmp/later.messages)" "the module 'loop' is not loaded: its function 'lo_ioctl' is probed once it is"
check "its mechanism" "$(cat /tmp/later.messages)" 'kprobe, once its module is loaded$'
check "nothing is left" "left:$(cat /sys/kernel/tracing/kprobe_events)" '^left:$'
refused "its variables" "not loaded, so that its types are not known" spile -e 'probe module("loop").function("lo_ioctl") { println($bdev) }' -c true
refused "a pattern" "which functions a pattern stands for is not known" spile -e 'probe module("loop").function("lo_*") {}' -c true
insmod /modules/loop.ko || fail "no loop.ko"
out=$(spile -e 'global c, set probe module("loop").function("lo_ioctl") { if (pid() == target()) { c++; if ($cmd == 0x4c00) set++ } }
                probe end { printf("%d %d\n", c > 0, set) }' -c 'exec losetup /dev/loop0 /bin/busybox')
check "a module's function" "$out" '^1 1$'
losetup -d /dev/loop0
out=$(spile -e 'global c, s probe module("loop").function("lo_ioctl") { if (pid() == target()) c++ } probe module("loop").statement("lo_ioctl") { if (pid() == target()) s++ }
                probe end { printf("%d %d\n", c > 0, s - c) }' -c 'exec losetup /dev/loop0 /bin/busybox')
check "a module's statement" "$out" '^1 0$'
losetup -d /dev/loop0
out=$(spile -e 'global c probe module("loop").function("lo_*").return { if (pid() == target()) c[probefunc()]++ }
                probe kprobe.module("loop").function("lo_ioctl") { if (pid() == target()) c["kprobe"]++ }
                probe end { println(c["lo_ioctl"] > 0 && c["lo_ioctl"] == c["kprobe"]) }' -c 'exec losetup /dev/loop0 /bin/busybox')
check "a module's functions" "$out" '^1$'
losetup -d /dev/loop0
# A module that is loaded anew while it is probed: kprobe.multi keeps it loaded, kprobes come back with it.
rm -f /tmp/again
spile -v -o /tmp/again -e 'global c, begun, seen probe module("loop").function("lo_ioctl") { if (execname() == "losetup" && !seen[pid()]++) c++ }
  probe timer.ms(50) { if (!begun++) println("armed") } probe end { printf("by %d processes\n", c) }' 2>/tmp/again.messages &
again=$!
until grep -q armed /tmp/again 2>/dev/null; do kill -0 $again || fail "$(cat /tmp/again.messages)"; sleep 0.2; done
losetup /dev/loop0 /bin/busybox
losetup -d /dev/loop0
if rmmod loop 2>/dev/null; then insmod /modules/loop.ko; else grep -q 'kprobe.multi' /tmp/again.messages || fail "a kprobe keeps the module"; fi
losetup /dev/loop0 /bin/busybox
kill -INT $again
wait $again
losetup -d /dev/loop0
check "a module that is loaded anew" "$(cat /tmp/again)" '^by 3 processes$'
check "listing" "$(spile -L 'module("loop").function("lo_ioctl")')" '\$bdev:struct block_device\* .*\$cmd:unsigned int'
refused "a name misspelt" "did you mean 'lo_ioctl'" spile -e 'probe module("loop").function("lo_ioclt") {}' -c true

refused "no such function" "did you mean 'vfs_read'" spile -e 'probe kernel.function("vfs_raed") {}' -c true
refused "a blacklisted function" "is on the kernel's blacklist of kprobes" spile -e 'probe kernel.function("asm_exc_int3") {}' -c true
refused "a function that is gone" "ran while the kernel started" spile -e 'probe kernel.function("start_kernel") {}' -c true
refused "an ordinary user" "Operation not permitted" su nobody -s /bin/sh -c "spile -e 'probe kernel.function(\"vfs_read\") {}' -c true"

# Where the kernel hides addresses, names do.
echo 2 >/proc/sys/kernel/kptr_restrict
reads='dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null'
out=$(spile -e 'global c probe kernel.function("vfs_rea*") { if (pid() == target()) c[probefunc()]++ } probe end { println(c["vfs_read"]) }' -c "exec $reads")
check "names without addresses" "$out" '^100$'
refused "a variable without an address" "the kernel hides the address of 'jiffies'" spile -e 'probe kernel.function("vfs_read") { println(@var("jiffies")) }' -c true
echo 0 >/proc/sys/kernel/kptr_restrict

# Tracefs that nobody has mounted: spile has a mount of its own.
umount /sys/kernel/tracing
out=$(spile -e 'global c probe kernel.function("vfs_rea*") { if (pid() == target()) c[probefunc()]++ } probe end { println(c["vfs_read"]) }' -c "exec $reads")
check "no tracefs" "$out" '^100$'
mount -t tracefs tracefs /sys/kernel/tracing
