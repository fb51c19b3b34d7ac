# Tools of examples/kernel for threads, signals and the network, each with a cause that is counted.
# often: 6.12
# files: examples/kernel
. /guest.sh
old=$(uname -r | grep -c '^6\.1\.')
ip link set lo up

# The load averages are those of /proc/loadavg, which has two digits and rounds.
spile -p4 $tools/loads.stp >/dev/null
out=$(spile -T 8 $tools/loads.stp 2>&1)
fifteen=$(cut -d' ' -f3 /proc/loadavg)
check loads "$out" '^[0-9]+ load averages: [0-9]+\.[0-9]{3} [0-9]+\.[0-9]{3} [0-9]+\.[0-9]{3}$'
echo "$out" | awk -v wanted="$fifteen" '/averages/ { n = $6 } END { exit !(n - wanted < 0.06 && wanted - n < 0.06) }' || fail "loads, not $fifteen: $out"

# Signals, children and waits.
shows signals '^ +9 SIGUSR1 +[0-9]+ +causes +-> +[0-9]+ +causes$' 1 'causes signals 9'
shows signals '^ +1 SIGCHLD +[0-9]+ +causes +-> +[0-9]+ +sh$' 1 'causes signals 9; true'
shows zombies '^[0-9]+ +[0-9]+ +causes +has left 7 zombies, the first [0-9]+ ms ago$' 1 'exec causes zombies 7'
out=$(spile $tools/futexes.stp --runtime=bpf -c 'exec causes mutex 20' 2>&1)
echo "$out" | awk '$2 == "causes" && $4 == 20 && $5 >= 40000 { n++ } END { exit n == 0 }' || fail "futexes: $out"
if [ $old = 0 ]; then
  out=$(spile $tools/waits.stp -c 'exec causes mutex 20' 2>&1)
  check "waits for time" "$out" '^slept [2-9][0-9] times, [0-9]{5,} us in all'
  check "its stack" "$out" ' : do_nanosleep\+'
fi
# Three threads that never wait, on two processors, for 2 s.
shows slowrun '^[0-9]+ +[0-9]+ +sh +[0-9]{8,} ' 0 'true'
out=$(spile $tools/slowrun.stp 1 -c 'for i in 1 2 3; do timeout 2 sh -c "while :; do :; done" & done; wait' 2>&1)
late=$(echo "$out" | grep -Ec '^[0-9]+ +[0-9]+ +sh +[0-9]{4,} +[01] sh \([0-9]+\)$')
[ "$late" -ge 20 ] || fail "slowrun: $late: $out"
echo "$out" | grep -Eq '^[0-9]+ +[0-9]+ +swapper' && fail "slowrun: the idle thread waits: $out"

# 500 pages.
out=$(spile $tools/faultlatency.stp -c 'exec causes pages 500' 2>&1)
writes=$(echo "$out" | sed -n 's/^minor faults by writes: \([0-9]*\),.*/\1/p')
[ "$writes" -ge 500 ] && [ "$writes" -le 600 ] || fail "faultlatency: $writes: $out"
check "its process" "$out" '^[0-9]+ +causes +[5-9][0-9][0-9] +[0-9]+ +[0-9]+$'

# The network: segments to a port where nobody listens; connections; messages.
shows tcpdrop '^[0-9]+ +nc +127\.0\.0\.1 +[0-9]+ -> 127\.0\.0\.1 +9 (0 +2|- +SKB_DROP_REASON_NO_SOCKET)$' 3 'for i in 1 2 3; do nc 127.0.0.1 9 </dev/null 2>/dev/null; done'
out=$(spile $tools/tcpsynbl.stp -c 'for i in 1 2 3; do causes tcp 1; done' 2>&1)
check tcpsynbl "$out" '^limit 1: 3 connections, 0 thrown away$'
[ "$(all_of "$out")" = 3 ] || fail "tcpsynbl: $out"
shows undump '^[0-9]+ +[0-9]+ +causes +6 "?hello' 5 'causes unix 5'
out=$(spile $tools/nettop.stp 2 -c 'causes udp 50; sleep 3' 2>&1)
check nettop "$out" '^[0-9]+ +causes +lo +50 +[12] +50 +[12] *$'
