# What the kernel counts of IPv4 and TCP, by the library's aliases: each counter grows as the kernel's own of its name.
# often: 6.1
. /guest.sh
ip link set lo up
ip link set lo mtu 1500
insmod /modules/dummy.ko numdummies=1 && ip addr add 10.8.0.1/24 dev dummy0 && ip link set dummy0 up mtu 600 || fail "no dummy0"
set_to() { echo $2 >/proc/sys/net/ipv4/$1 || fail "no $1"; }
set_to conf/all/rp_filter 0
set_to conf/lo/rp_filter 0
set_to ipfrag_time 1

# kernel_counter NAME: of /proc/net/snmp or netstat.
kernel_counter() {
  cat /proc/net/snmp /proc/net/netstat | awk -v name=$1 '{ kind = $1 } names[kind] == "" { names[kind] = $0; next }
    { n = split(names[kind], keys, " "); split($0, values, " "); for (i = 2; i <= n; i++) if (keys[i] == name) { print values[i]; exit } names[kind] = "" }'
}
# grows ALIAS LEAST COMMAND: while the command runs, the alias' counter and its handler's hits count what the kernel does, and at
# least so many.
grows() {
  name=${1#*.}
  before=$(kernel_counter $name)
  out=$(spile -e "global hits probe $1 { hits += op } probe end { printf(\"%d %d\\n\", $name[1], hits) }" -c "$3" 2>&1)
  sleep ${4:-0}
  grown=$(($(kernel_counter $name) - before))
  [ "$grown" -ge "$2" ] || fail "$1: the kernel itself counts $grown: $out"
  check "$1" "$out" "^$grown $grown\$"
}
grows ipmib.InReceives 100 'causes udp 50; ping -c 25 -i 0.02 127.0.0.1'
grows ipmib.OutRequests 50 'exec causes udp 50'
grows ipmib.InUnknownProtos 10 'exec packets 10.9.0.1 10.8.0.1 253 40 0 10'
grows ipmib.FragOKs 6 'ping -c 3 -i 0.05 -s 3000 127.0.0.1'
grows ipmib.ReasmReqds 18 'ping -c 3 -i 0.05 -s 3000 127.0.0.1'
# A first piece, and no other one.
grows ipmib.ReasmTimeout 1 'packets 10.9.0.1 10.8.0.1 253 40 0x2000 1; sleep 2.5'
# A packet for somebody else comes: this machine is no router, then it is one.
grows ipmib.InAddrErrors 7 'exec packets 10.9.0.1 10.7.0.1 253 40 0 7'
set_to ip_forward 1
grows ipmib.InNoRoutes 8 'exec packets 10.9.0.1 10.7.0.1 253 40 0 8'
ip route add 10.9.0.0/24 dev lo
grows ipmib.ForwDatagrams 9 'packets 10.9.0.1 10.8.0.5 253 40 0 9; sleep 0.3'
grows ipmib.FragFails 6 'exec packets 10.9.0.1 10.8.0.5 253 1000 0x4000 6'

grows tcpmib.InSegs 8 'exec causes tcp 5'
grows tcpmib.OutSegs 8 'exec causes tcp 5'
grows tcpmib.OutRsts 3 'for i in 1 2 3; do nc 127.0.0.1 9 </dev/null; done'
grows tcpmib.AttemptFails 3 'for i in 1 2 3; do nc 127.0.0.1 9 </dev/null; done'
grows tcpmib.RetransSegs 1 'timeout 3 nc 10.8.0.9 80 </dev/null'
# Two sides of a connection are established, and end.
out=$(spile -e 'global made, ended probe tcpmib.CurrEstab { if (op == 1) made++; else ended++ } probe end { printf("%d %d %d\n", made, ended, CurrEstab[1]) }' -c 'exec causes tcp 5' 2>&1)
check "tcpmib.CurrEstab" "$out" '^2 2 0$'
# 127.0.0.1 in the byte order of the machine.
out=$(spile -e 'global right, wrong
  probe tcpmib.ActiveOpens { if (pid() == target()) {
    if (tcpmib_local_addr(sk) == 0x7f000001 && ip_ntop(htonl(tcpmib_remote_addr(sk))) == "127.0.0.1") right++; else wrong++ } }
  probe end { println(right > 0, wrong) }' -c 'exec causes tcp 5' 2>&1)
check "addresses of tcpmib" "$out" '^10$'
# Of 6 connections two find room.
grows linuxmib.ListenOverflows 2 'exec packets accept 7000 1 6'
grows linuxmib.ListenDrops 2 'exec packets accept 7001 1 6'
grows linuxmib.DelayedACKs 3 'exec packets late 5'

# Packets' addresses and ports, as the packets say.
out=$(spile -e 'global right, wrong
  probe ipmib.OutRequests { if (pid() == target() && ipmib_get_proto(skb) == 6) {
    if (ip_ntop(ipmib_remote_addr(skb, 1)) == "127.0.0.1" && ip_ntop(ipmib_local_addr(skb, 1)) == "127.0.0.1" && ipmib_tcp_local_port(skb, 1) && ipmib_tcp_remote_port(skb, 1)) right++
    else wrong++ } }
  probe end { printf("%d %d\n", right > 3, wrong) }' -c 'exec causes tcp 5' 2>&1)
check "of packets" "$out" '^1 0$'

# All sockets of TCP together may have a page, and 20 that nobody reads get megabytes.
grows linuxmib.TCPMemoryPressures 1 'echo 1 1 100000 >/proc/sys/net/ipv4/tcp_mem; packets fill 7003 20'
