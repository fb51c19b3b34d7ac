# Points by the debug information of a module of the kernel: exact counts against calls that are known, values of locals, what is
# refused.
# seconds: 600
. /guest.sh
mkdir -p "/lib/modules/$(uname -r)"
echo "kernel/drivers/block/loop.ko:" >"/lib/modules/$(uname -r)/modules.dep"
insmod /modules/loop.ko || fail "no loop.ko"
file=drivers/block/loop.c
# Each turn is one LOOP_SET_FD (0x4c00) and one LOOP_CLR_FD (0x4c01).
turns='for i in 1 2 3 4 5 6 7 8 9 10 11 12; do losetup /dev/loop0 /bin/busybox && losetup -d /dev/loop0; done'

# count NUMBER POINT [CONDITION]
count() {
  out=$(spile -v -e "global c probe $2 { if (execname() == \"losetup\" ${3:+&& $3}) c++ } probe end { println(c) }" -c "$turns" 2>&1)
  check "$2" "$out" "^$1\$"
  echo "$2 ${3:-}: $1 hits"
}
count 12 "module(\"loop\").function(\"lo_ioctl@$file\")" '$cmd == 0x4c00'
count 12 "module(\"loop\").function(\"lo_ioctl@$file\")" '$cmd == 0x4c01'
count 12 "module(\"loop\").function(\"loop_configure@$file\")"
count 12 "module(\"loop\").function(\"lo_ioctl\").callee(\"loop_configure\")"
# At the line of loop_configure's local: the parameter and the local that is made of it name the same disk.
line=$(spile -l "module(\"loop\").statement(\"lo_ioctl@$file:*\")" | sed -n 's/.*:\([0-9]*\)")$/\1/p' | sort -n | sed -n 2p)
count 12 "module(\"loop\").statement(\"lo_ioctl@$file:$line\")" '$cmd == 0x4c00'
out=$(spile -e "global n, wrong probe module(\"loop\").statement(\"lo_ioctl@$file:$line\") { n++; if (\$lo->lo_number != 0 || \$lo != \$bdev->bd_disk->private_data) wrong++ }
  probe end { printf(\"%d %d\n\", n > 0, wrong) }" -c "$turns" 2>&1)
check "a local" "$out" '^1 0$'
echo "lo_ioctl@$file:$line, \$lo: $out"
out=$(spile -e "global n, wrong probe module(\"loop\").function(\"lo_ioctl\") { n++; if (@var(\"max_loop\") != $(cat /sys/module/loop/parameters/max_loop)) wrong++ }
  probe end { printf(\"%d %d\n\", n > 0, wrong) }" -c "$turns" 2>&1)
check "a variable of the module" "$out" '^1 0$'
# Loaded anew, elsewhere: the probe by a line comes back with it.
spile -o /tmp/again -e "global c, begun probe module(\"loop\").statement(\"lo_ioctl@$file:$line\") { if (execname() == \"losetup\" && \$cmd == 0x4c00) c++ }
  probe timer.ms(50) { if (!begun++) println(\"armed\") } probe end { printf(\"again %d\n\", c) }" &
again=$!
until grep -q armed /tmp/again 2>/dev/null; do kill -0 $again || fail "it ended"; sleep 0.2; done
losetup /dev/loop0 /bin/busybox && losetup -d /dev/loop0
rmmod loop && insmod /modules/loop.ko || fail "loop can't be loaded anew"
losetup /dev/loop0 /bin/busybox && losetup -d /dev/loop0
kill -INT $again
wait $again
check "a module that is loaded anew" "$(cat /tmp/again)" '^again 2$'
out=$(spile -e "probe module(\"loop\").function(\"loop_init@$file\") {}" -c true 2>&1) && fail "__init code was probed"
check "code that is gone" "$out" 'in code that is gone since the module was loaded'
out=$(spile -e "probe module(\"loop\").statement(\"lo_ioctl@$file:99999\") {}" -c true 2>&1) && fail "a line that is not there was probed"
check "a line that is not there" "$out" 'no line records for drivers/block/loop.c:99999'
