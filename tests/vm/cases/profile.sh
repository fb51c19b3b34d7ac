# timer.profile samples what runs.
. /guest.sh
out=$(spile --runtime=bpf -e 'global n, s probe timer.profile { n[execname()]++; s <<< 1 }
  probe end { printf("calls %d all %d\n", n["calls_static"] > 10, @count(s) >= n["calls_static"]) }' \
  -c 'calls_static 30000000') || fail "status $?: $out"
check samples "$out" '^calls 1 all 1$'
