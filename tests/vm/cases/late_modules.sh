# Names of functions of a module that is loaded, gone, and loaded anew while a script runs.
# kernels: 6.12
. /guest.sh

rm -f /tmp/names
spile -o /tmp/names -e 'global begun, where
  probe kernel.function("fget") {
    if (execname() == "losetup" && modname(stack(1)) != "kernel") {
      printf("in %s of %s\n", symname(stack(1)), modname(stack(1)))
      where[callers(2)]++
      print_backtrace()
    }
  }
  probe timer.ms(50) { if (!begun++) println("armed") }
  probe end { println("end"); foreach (stack in where) print_stack(stack) }' 2>/tmp/messages &
run=$!
until grep -q armed /tmp/names 2>/dev/null; do kill -0 $run || fail "$(cat /tmp/messages)"; sleep 0.2; done
for turn in 1 2; do
  insmod /modules/loop.ko || fail "no loop.ko"
  # Another module is where loop was before.
  sleep 3
  losetup /dev/loop0 /bin/busybox || fail "no loop device"
  losetup -d /dev/loop0
  sleep 0.5
  rmmod loop || fail "loop can't be unloaded"
  [ -e /sys/module/dummy ] || insmod /modules/dummy.ko
  sleep 1
done
kill -INT $run
wait $run || fail "status $?: $(cat /tmp/messages)"
during=$(sed '/^end$/,$d' /tmp/names) after=$(sed '1,/^end$/d' /tmp/names)
[ "$(echo "$during" | grep -Ec '^in (lo_ioctl|loop_configure) of loop$')" -ge 2 ] || fail "names in handlers: $during"
[ "$(echo "$during" | grep -Ec '^ 0xf[0-9a-f]+ : (lo_ioctl|loop_configure)\+.* \[loop\]$')" -ge 2 ] ||
  fail "names in stacks: $during"
check "names of a module that is gone" "$after" '^ 0xf[0-9a-f]+ : (lo_ioctl|loop_configure)\+.* \[loop\]$'
echo "$during$after" | grep -E '^ 0x[0-9a-f]+$' && fail "numbers: $during $after"
check "nothing is said" "none:$(grep -v "^WARNING: timer.ms" /tmp/messages)" "^none:\$"
