# The arguments of tracepoints, typed: of the kernel, of a module; equal to what the record says. Over an arena, and over maps of
# the kernel.
. /guest.sh

out=$(spile -v -e 'global typed, fields, packets
  probe kernel.trace("net:netif_receive_skb") { typed += $skb->len; packets++ }
  probe kernel.trace("net:netif_receive_skb") { fields += $len }
  probe end { printf("%d %d\n", packets >= 10, typed == fields && typed > 500) }' -c 'ping -c 10 -i 0.1 127.0.0.1 >/dev/null' 2>&1)
check "skb" "$out" '^1 1$'
check "mechanism" "$out" 'raw tracepoint net:netif_receive_skb'

out=$(spile -e 'global n, wrong probe kernel.trace("sched:sched_switch") { if (pid() == target()) { n++; if ($prev->pid != tid()) wrong++ } }
  probe end { printf("%d %d\n", n > 3, wrong) }' -c 'exec sh -c "for i in 1 2 3 4 5 6; do usleep 5000; done"')
check "sched_switch" "$out" '^1 0$'

# Over maps of the kernel, which lives of processes need.
out=$(spile -e 'global n, ended probe process.end { ended++ } probe kernel.trace("sched:sched_process_exit") { if ($p->pid == tid()) n++ }
  probe timer.ms(50) { system("true") } probe timer.s(1) { exit() } probe end { println(n > 3) }')
check "over maps" "$out" '^1$'
