# Members of the kernel's structures that its headers define as macros (sk_family, inet_dport), or that have another name now
# (state of task_struct), are read by the names that C code has for them: as the paths behind them, and as the kernel's own record
# has them.
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")

client = """import socket
listener = socket.create_server(("127.0.0.1", 0))
for i in range(3):
    one = socket.create_connection(listener.getsockname())
    other, address = listener.accept()
    one.close()
    other.close()
"""
out = spile("-e", """global n, same
probe kernel.trace("sock:inet_sock_set_state") {
  if (pid() != target()) next
  n++
  inet = &@cast($sk, "inet_sock", "kernel")
  same += $sk->sk_family == 2 && $sk->sk_family == $sk->__sk_common->skc_family && inet->inet_num == $sk->sk_num
  && ntohs($sk->sk_dport) == ntohs(inet->inet_dport)
          && inet->inet_daddr == $sk->__sk_common->skc_daddr && $sk->sk_rcv_saddr == inet->inet_rcv_saddr
}
probe kernel.trace("sched:sched_switch") { if ($prev->pid == target() && ($prev->state & 0xff) != ($prev->__state & 0xff))
  same = -1000000 }
probe end { printf("%d %d\\n", n, same) }""", "-c", f"{sys.executable} -c '{client}'").expect().out.split()
expect(out[0], out[1], "states of sockets")
expect_true(int(out[0]) >= 12, f"three connections have at least twelve changes of state: {out}")
spile("-p2", "-e", 'probe kernel.trace("sched:sched_switch") { println($prev->stat) }').expect(
    status=1, err_match="'struct task_struct' has no member 'stat'")

# A script's own function is what the library's counters of packets call; the library's is gone.
for name, event in [("ipmib", "InReceives"), ("tcpmib", "ActiveOpens"), ("linuxmib", "ListenOverflows")]:
    parameters = "skb:long, op:long, out:long" if name == "ipmib" else "mine:long, op:long"
    spile("-p2", "-e", f"""function {name}_filter_key:long ({parameters}) {{ return 4711 }}
probe {name}.{event} {{ println(key) }}""").expect(status=0, out_match=re.escape(
        f"# functions\n{name}_filter_key:long ({parameters})\n# probes\n"))
