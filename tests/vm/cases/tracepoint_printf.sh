# Records printed by a handler in the kernel arrive whole, filtered to one process.
. /guest.sh
out=$(spile -e 'probe kernel.trace("sched:sched_process_exit") { if (execname() == "calls_static") printf("%s %d exits\n", execname(), pid() > 0) }' \
  -c 'calls_static 10; calls_static 10') || fail "status $?: $out"
[ "$(echo "$out" | grep -c '^calls_static 1 exits$')" = 2 ] || fail "$out"
met
# As events they say which process and thread they are of.
out=$(spile --json -e 'probe kernel.trace("sched:sched_process_exit") { if (execname() == "calls_static") printf("%d %d\n", pid(), tid()) }' -c 'calls_static 10') || fail "status $?: $out"
echo "$out" | grep -Eq '"pid":([0-9]+),"tid":([0-9]+),.*"values":\[\1,\2\]' || fail "$out"
