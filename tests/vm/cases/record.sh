# spile record with handlers in the kernel, over its maps (6.1) and over an arena (6.12): numbers, arrays, statistics and texts
# that handlers change while spile reads them; hits in processes and in the kernel together; the metrics of the same.
. /guest.sh

cat >/tmp/reads.stp <<'END'
global reads, by_name, sizes, last, begun, waited
probe kernel.trace("syscalls:sys_enter_read") {
  if (execname() != "dd") next
  reads++; by_name[execname(), $count]++; sizes <<< $count; last = execname(); begun[tid()] = gettimeofday_ns()
  if ($count == 512) printf("read %d by %s\n", $count, execname())
}
probe kernel.trace("syscalls:sys_exit_read") { if (tid() in begun) { waited <<< gettimeofday_ns() - begun[tid()]; delete begun[tid()] } }
END
spile record /tmp/reads.stp --every 200ms -o /tmp/reads.run -c 'dd if=/dev/zero of=/dev/null bs=512 count=300' >/tmp/out 2>&1 || fail "record: $(cat /tmp/out)"
out=$(spile report /tmp/reads.run 2>&1) || fail "report: $out"
check "a number" "$out" '^reads = 30[0-9]$'
check "an array" "$out" '\["dd", 512\] 300$'
check "statistics" "$out" '^sizes = n=30[0-9] avg=[0-9.]*K* min='
check "a histogram" "$out" '\[512, 1K\)  *30[0-9] '
check "times" "$out" '^waited = n=30[0-9] '
# Over the kernel's maps there are no sketches.
case $(uname -r) in 6.1.*) percentiles=no ;; *) percentiles=yes ;; esac
[ "$(echo "$out" | grep -q '^sizes = .* p50=5[0-9][0-9] ' && echo yes || echo no)" = $percentiles ] || fail "percentiles: $out"
check "a text" "$out" '^last = "dd"$'
check "events" "$out" 'read 512 by dd'
[ "$(spile report /tmp/reads.run --json | grep -c '"text":"read 512 by dd"')" = 300 ] || fail "300 events: $(spile report /tmp/reads.run --json | grep -c '"kind":"event"')"
check "losses" "$(spile report /tmp/reads.run --json | head -1)" '"lost":\[\]'
