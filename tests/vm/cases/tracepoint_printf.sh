# Records printed by a handler in the kernel arrive whole, filtered to one process.
. /guest.sh
out=$(spile -e 'probe kernel.trace("sched:sched_process_exit") { if (execname() == "calls_static") printf("%s %d exits\n", execname(), pid() > 0) }' \
  -c 'calls_static 10; calls_static 10') || fail "status $?: $out"
[ "$(echo "$out" | grep -c '^calls_static 1 exits$')" = 2 ] || fail "$out"
