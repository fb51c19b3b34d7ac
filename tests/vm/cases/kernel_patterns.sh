# Patterns of many functions at once: one link of kprobe.multi, on and off at once, and all functions of the kernel.
# kernels: 6.12
# seconds: 120
. /guest.sh
out=$(spile -e 'global at, off, n probe kernel.function("vfs_*") { n++ } probe begin { at = gettimeofday_ms() }
  probe timer.ms(100) { on = gettimeofday_ms() - at - 100; printf("on %d\n", on < 3000); off = gettimeofday_ms(); exit() }
  probe end { printf("off %d\n", gettimeofday_ms() - off < 3000) }')
check "on" "$out" '^on 1$'
check "off" "$out" '^off 1$'
out=$(spile -e 'global n probe kernel.function("*") { n++ } probe timer.ms(500) { if (n > 1000) exit() } probe end { println(n > 1000) }' 2>&1)
check "all functions" "$out" '^1$'
sync
echo 1 >/proc/sys/vm/drop_caches
cat /proc/uptime >/dev/null || fail "the kernel does not work any more"
