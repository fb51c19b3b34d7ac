# Processors that go offline and come back while they are sampled.
. /guest.sh

online=/sys/devices/system/cpu/cpu1/online
[ -e $online ] || fail "the second processor can't go offline"
# A line for each part of the run: whether each processor was sampled in it.
samples() { # samples POINT
  rm -f /tmp/parts
  spile --runtime=bpf -o /tmp/parts -e "global c probe $1 { c[cpu()]++ }
    probe timer.ms(1500) { printf(\"%d %d\n\", c[0] > 0, c[1] > 0); delete c }" 2>/tmp/messages &
  run=$!
  until [ -s /tmp/parts ]; do kill -0 $run || fail "$(cat /tmp/messages)"; sleep 0.2; done
}
# ends: waits for some more parts, and ends the run.
ends() {
  had=$(wc -l </tmp/parts)
  until [ "$(wc -l </tmp/parts)" -ge $((had + $1)) ]; do kill -0 $run || fail "$(cat /tmp/messages)"; sleep 0.2; done
}
# Work for both processors.
for cpu in 0 1; do taskset -c $cpu sh -c 'while :; do :; done' & done
for point in timer.profile 'perf.sw.cpu_clock.sample(1000000)' timer.profile.freq.hz\(50\); do
  samples "$point"
  check "$point on both" "$(tail -1 /tmp/parts)" '^1 1$'
  echo 0 >$online
  ends 2
  check "$point on one" "$(tail -1 /tmp/parts)" '^1 0$'
  echo 1 >$online
  ends 2
  check "$point after it has come back" "$(tail -1 /tmp/parts)" '^1 1$'
  # Back before spile has looked.
  echo 0 >$online
  echo 1 >$online
  ends 3
  check "$point after it was away for a moment" "$(tail -1 /tmp/parts)" '^1 1$'
  kill -INT $run
  wait $run || fail "status $?: $(cat /tmp/messages)"
  check "what is missing" "$(cat /tmp/messages)" 'samples of processor 1 are missing, of up to a second after it came online$'
done
# Started while it is away.
echo 0 >$online
samples timer.profile
check "one processor at the start" "$(tail -1 /tmp/parts)" '^1 0$'
echo 1 >$online
ends 2
check "another one comes" "$(tail -1 /tmp/parts)" '^1 1$'
kill -INT $run
wait $run || fail "status $?: $(cat /tmp/messages)"
# Functions of the kernel, whichever processors are there.
echo 0 >$online
out=$(spile -e 'global c probe kernel.statement("vfs_read+0"), syscall.read { if (pid() == target()) c++ }
  probe end { println(c) }' \
  -c 'exec dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null') || fail "status $?: $out"
echo 1 >$online
check "functions with one processor" "$out" '^[1-9][0-9]*$'
