# Packets at hooks of netfilter, which go on. Kernels before 6.4 have no programs there, and say so.
. /guest.sh
point='netfilter.hook("local_in").pf("ipv4")'
case $(uname -r) in
  6.1.*)
    out=$(spile -e "probe $point { next }" 2>&1) && fail "attached"
    check "older kernels" "$out" 'this kernel does not run programs at hooks of netfilter'
    check "what to do" "$out" 'hint: that takes Linux 6.4 or later'
    exit 0
    ;;
esac
# Each of ten pings is a request and an answer; 56 bytes, with the headers of ICMP and IP 84.
for more in '' 'try { error("x") } catch { caught++ }'; do
  out=$(spile -v -e "global ins, outs, length, caught probe $point { ins++; length = \$skb->len; $more }
    probe netfilter.hook(\"NF_INET_LOCAL_OUT\").pf(\"NFPROTO_IPV4\").priority(-10) { outs++ }
    probe end { printf(\"%d %d %d\\n\", ins, outs, length) }" -c 'ping -c 10 -i 0.05 127.0.0.1 | tail -2' 2>&1)
  check "packets" "$out" '^20 20 84$'
  check "all of them went on" "$out" '10 packets received, 0% packet loss'
  check "mechanism" "$out" '^netfilter.hook\("local_in"\).pf\("ipv4"\): netfilter, family 2, hook 1, priority 0 or the next one that is free$'
done
out=$(spile -e "global n, numbers probe $point { n[kernel_string(\$in->name), pp()]++; numbers = \$hooknum * 100 + \$pf * 10 + (\$skb != 0) }
  probe end { foreach ([name, where] in n) printf(\"%s %s %d %d\\n\", name, where, n[name, where], numbers) }" -c 'ping -c 1 127.0.0.1 >/dev/null' 2>&1)
check "device, hook and family" "$out" '^lo netfilter.hook\("local_in"\).pf\("ipv4"\) 2 121$'
out=$(spile -e 'global n probe netfilter.ipv4.local_in { n[length, protocol, pn()]++ } probe end { foreach ([l, p, name] in n) printf("%d %d %s %d\n", l, p, name, n[l, p, name]) }' \
  -c 'ping -c 3 -i 0.05 127.0.0.1 >/dev/null' 2>&1)
check "the library's names" "$out" '^84 1 netfilter.ipv4.local_in 6$'
# Several probes of a script are at a hook, and see each packet.
out=$(spile -e "global n probe $point { n[1]++ } probe netfilter.ip.local_in { n[2] += protocol == 1 } probe netfilter.ipv4.local_in { n[3]++ } probe end { printf(\"%d %d %d\n\", n[1], n[2], n[3]) }" \
  -c 'ping -c 4 -i 0.05 127.0.0.1 >/dev/null' 2>&1)
check "several probes" "$out" '^8 8 8$'
out=$(spile -e "probe $point.priority(7) { next } probe netfilter.ipv4.local_in { next } probe $point.priority(7) { print(1) }" -c true 2>&1) && fail "two programs at one priority"
check "a priority that is taken" "$out" 'another program has this priority there'
# The thread that runs while a packet leaves is its sender. A kernel that does not say it (before 6.10) is named.
out=$(spile -e 'global n probe netfilter.ipv4.local_out { if (protocol == 1) n[execname(), pid() > 0, task_uid(task_current()), tid() == pid()]++ } probe end { foreach ([name, a, b, c] in n) printf("%s %d %d %d %d\n", name, a, b, c, n[name, a, b, c]) }' \
  -c 'ping -c 1 127.0.0.1 >/dev/null' 2>&1)
check "who sends" "$out" '^ping 1 0 1 2$'
