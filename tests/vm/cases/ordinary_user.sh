# Without CAP_BPF: refused, with what to do.
. /guest.sh
echo nobody:x:65534:65534:nobody:/:/bin/sh >>/etc/passwd
out=$(su nobody -c "/usr/bin/spile -e 'probe kernel.trace(\"sched:sched_switch\") { }'" 2>&1) && fail "not refused: $out"
check refusal "$out" '(root|CAP_BPF|sudo)'
