# timer.profile samples what runs; with -c, in the traced processes alone.
. /guest.sh
out=$(spile --runtime=bpf -e 'global n, s probe timer.profile { n[execname()]++; s <<< 1 }
  probe end { printf("calls %d all %d\n", n["calls_static"] > 10, @count(s) >= n["calls_static"]) }' \
  -c 'calls_static 30000000') || fail "status $?: $out"
check samples "$out" '^calls 1 all 1$'

# The command, its children and theirs, each from its beginning; another busy process is not sampled. Over maps and, with a
# statement that maps can't have, over an arena where there is one.
cat >/tmp/tree.sh <<'TEXT'
calls_static 3000000 >/dev/null
i=0; while [ $i -lt 30 ]; do (j=0; while [ $j -lt 300 ]; do j=$((j + 1)); done); i=$((i + 1)); done
TEXT
sh -c 'while :; do :; done' &
busy=$!
for more in '' 'try { error("x") } catch { caught++ }'; do
  [ -n "$more" ] && case $(uname -r) in 6.1.*) continue ;; esac
  out=$(spile -v --runtime=bpf -e "global n, pids, caught probe timer.profile.freq.hz(500) { n[execname()]++; pids[pid()]++; $more }
    probe end { foreach (p in pids) m++
      printf(\"calls %d sh %d busy %d pids %d\\n\", n[\"calls_static\"] > 5, n[\"sh\"] > 5, pids[$busy], m > 5) }" -c 'sh /tmp/tree.sh' 2>&1) ||
    fail "status $?: $out"
  check "traced processes alone" "$out" '^calls 1 sh 1 busy 0 pids 1$'
  check "rate" "$out" '^timer.profile.freq.hz\(500\): cpu-clock every 2000000 ns$'
done
# With -x, and beside another probe of the kernel.
out=$(spile -e "global n, others probe timer.profile { if (pid() == $busy) n++; else others++; if (n == 20) exit() }
  probe kernel.trace(\"sched:sched_switch\") { if (pid() < 0) others++ } probe end { printf(\"%d %d\\n\", n, others) }" -x $busy 2>&1)
check "one process" "$out" '^20 0$'
kill $busy
