# Functions of loaded modules, and what is said where a function can't be probed.
# seconds: 100
. /guest.sh

refused() { # refused WHAT PATTERN SCRIPT...: the run fails, with these words.
  what=$1 pattern=$2
  shift 2
  out=$("$@" 2>&1 </dev/null) && fail "$what was not refused"
  check "$what" "$out" "$pattern"
}

refused "a module that is not loaded" "the module 'loop' is not loaded" spile -e 'probe module("loop").function("lo_ioctl") {}' -c true
insmod /modules/loop.ko || fail "no loop.ko"
out=$(spile -e 'global c, set probe module("loop").function("lo_ioctl") { if (pid() == target()) { c++; if ($cmd == 0x4c00) set++ } }
                probe end { printf("%d %d\n", c > 0, set) }' -c 'exec losetup /dev/loop0 /bin/busybox')
check "a module's function" "$out" '^1 1$'
losetup -d /dev/loop0
out=$(spile -e 'global c probe module("loop").function("lo_*").return { if (pid() == target()) c[probefunc()]++ }
                probe kprobe.module("loop").function("lo_ioctl") { if (pid() == target()) c["kprobe"]++ }
                probe end { println(c["lo_ioctl"] > 0 && c["lo_ioctl"] == c["kprobe"]) }' -c 'exec losetup /dev/loop0 /bin/busybox')
check "a module's functions" "$out" '^1$'
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
