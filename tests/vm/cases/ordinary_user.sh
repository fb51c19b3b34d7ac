# Without CAP_BPF: refused, with what to do.
. /guest.sh
out=$(su nobody -c "/usr/bin/spile -e 'probe kernel.trace(\"sched:sched_switch\") { }'" 2>&1) && fail "not refused: $out"
check refusal "$out" '(root|CAP_BPF|sudo)'
