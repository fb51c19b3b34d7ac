# After the end nothing of spile is left in the kernel.
. /guest.sh
# The sleep is what is traced: two switches of the processor.
out=$(spile -e 'global c probe kernel.trace("sched:sched_switch") { c++ } probe end { println(c > 0) }' -c 'sleep 0.2') || fail "status $?"
check switches "$out" '^1$'
command -v bpftool >/dev/null || exit 0
for kind in prog map link; do
  left=$(bpftool $kind show 2>/dev/null | grep -i spile)
  [ -z "$left" ] || fail "left behind: $left"
done
