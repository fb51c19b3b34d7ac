# A tracepoint with fields: counters, an array keyed by a number and by a name, printf.
. /guest.sh
export SPILE_COMPILES_IN_GUEST=yes  # LLVM, too, is tried in the guest
# Each sleep is two switches of the processor.
out=$(spile -e 'global c, by, last
  probe kernel.trace("sched:sched_switch") { c++; by[$prev_pid]++; last[execname()]++ }
  probe end { printf("switches %d\n", c > 10); printf("sh %d\n", last["sh"] > 0 || last["busybox"] > 0)
              foreach (p in by limit 3) printf("pid %d\n", by[p] > 0) }' \
  -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done') || fail "status $?: $out"
check switches "$out" '^switches 1$'
check name "$out" '^sh 1$'
check array "$out" '^pid 1$'
