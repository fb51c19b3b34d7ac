# Patterns of many functions at once: one link of kprobe.multi, or on Linux 6.1 a kprobe each; on and off; and all functions of
# the kernel.
. /guest.sh
# Bars, ms: the emulator is some ten times slower than the processor. On 6.12 that is 0.3 s on and off. On 6.1, 73 kprobes took
# 0.7 to 0.9 s on and 4.1 to 4.4 s off: each one waits for the kernel when it is closed, 64 at a time.
case $(uname -r) in
  6.1.*) most_on=5000 most_off=20000 ;;
  *) most_on=3000 most_off=3000 ;;
esac
out=$(spile -e 'global at, off, n probe kernel.function("vfs_*") { n++ } probe begin { at = gettimeofday_ms() }
  probe timer.ms(100) { printf("on %d\n", gettimeofday_ms() - at - 100); off = gettimeofday_ms(); exit() }
  probe end { printf("off %d\n", gettimeofday_ms() - off) }')
echo "$out" | tee /dev/stderr | awk -v most_on=$most_on -v most_off=$most_off '
  /^on / && $2 < most_on { good++ } /^off / && $2 < most_off { good++ } END { exit good != 2 }' || fail "slower than $most_on ms on, $most_off ms off: $out"
met
case $(uname -r) in 6.1.*) exit 0 ;; esac
out=$(spile -e 'global n probe kernel.function("*") { n++ } probe timer.ms(500) { if (n > 1000) exit() } probe end { println(n > 1000) }' 2>&1)
check "all functions" "$out" '^1$'
sync
echo 1 >/proc/sys/vm/drop_caches
cat /proc/uptime >/dev/null || fail "the kernel does not work any more"
