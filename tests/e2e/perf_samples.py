# Samples of what the kernel counts in the command's threads, and packets in a network namespace of the test's own.
# variants: samples packets
from spiletest import *

if VARIANT == "packets" and os.environ.get("SPILE_TEST_OWN_NET") != "1":
    os.environ["SPILE_TEST_OWN_NET"] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def kernel(script, command):
    result = spile("-o", "/dev/stderr", "-e", script, "-c", command)
    if "Operation not permitted" in result.err or "does not run programs at hooks" in result.err:
        skip(result.err.strip())
    return result


if VARIANT == "samples":
    # Every page of 8 MiB is touched once for the first time; Python itself has some more. Each tenth of the same events is a
    # tenth of the hits.
    touch = ("import mmap; m = mmap.mmap(-1, 1 << 23, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.madvise(15)\n"
             "for i in range(0, 1 << 23, 4096): m[i] = 1")
    kernel(r"""global n, others
    probe perf.sw.page_faults.sample(1).process, perf.sw.page_faults.sample(10).process { if (pid() == target()) n[pp()]++; else others++ }
    probe end { all = n["perf.type(1).config(2).sample(1).process"]; tenth = n["perf.type(1).config(2).sample(10).process"]
                printf("%d %d %d\n", all >= 2048 && all < 12000, all - 10 * tenth < 10 && all >= 10 * tenth, others) }""",
           f"exec {sys.executable} -c '{touch}'").expect(err="1 1 0\n")
    # As many switches as the scheduler's tracepoint sees from the first one on; the last one may be that of a thread that ends.
    # The kernel drops a sample where a thread that was moved off this CPU stands within a system call of eBPF
    # (`bpf_prog_active`): up to 3 of 90 on a machine full of tests.
    kernel(r"""global n, traced
    probe perf.sw.context_switches.sample(1).process { if (pid() == target()) n++ }
    probe kernel.trace("sched:sched_switch") { if (pid() == target() && n > 0) traced++ }
    probe end { printf("%d %d\n", n >= 30, n - traced <= 2 && traced - n <= 2 + traced / 10) }""",
           f"exec {sys.executable} -c 'import time; [time.sleep(0.002) for i in range(30)]'").expect(err="1 1\n")
    # An event that can't be counted ends the session, also while the command stands still.
    spile("-e", "probe perf.type(1).config(99).process { next }", "-c",
          "true").expect(status=1, err_match="event 0x63 of type 1 is not known to this kernel")
else:
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # brings lo up: SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(any_socket, 0x8914, b"lo".ljust(16, b"\0") + (1).to_bytes(2, sys.byteorder) + bytes(22))
    script = temporary_directory() / "send.py"
    script.write_text("""import socket
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20):
    s.sendto(b"x" * 100, r.getsockname())
for i in range(20):  # all of them arrive
    r.recv(200)
""")
    look = "try { where[kernel_string($in->name), $hooknum * 10 + $pf]++ } catch { wrong++ }"
    show = 'foreach ([name, numbers] in where) println(name, " ", numbers, " ", where[name, numbers])'
    for more, end, declared in [("", "", ""), (look, show, ", where")]:
        kernel(rf"""global ins, outs, length, wrong{declared}
        probe netfilter.hook("local_in").pf("ipv4") {{ ins++; length = $skb->len; if (!$skb || $out) wrong++; {more} }}
        probe netfilter.hook("NF_INET_LOCAL_OUT").pf("NFPROTO_IPV4").priority(-10) {{ outs++ }}
        probe end {{ printf("%d %d %d %d\n", ins, outs, length, wrong); {end} }}""",
               f"exec {sys.executable} {script}").expect(err="20 20 128 0\n" + ("lo 12 20\n" if more else ""))
    # The library's names, with addresses; every second packet is one of IPv6.
    both = temporary_directory() / "both.py"
    both.write_text("""import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    r = socket.socket(family, socket.SOCK_DGRAM)
    r.bind((address, 0))
    s = socket.socket(family, socket.SOCK_DGRAM)
    for i in range(5):
        s.sendto(b"x" * 100, r.getsockname())
""")
    kernel(r"""global n
    probe netfilter.ip.local_in { n[family, length, protocol, saddr, daddr, indev_name . "/" . outdev_name, dport > 0 && sport > 0]++ }
    probe netfilter.ipv4.local_out { n[family, length, protocol, saddr, daddr, indev_name . "/" . outdev_name, dport > 0 && sport > 0]++ }
    probe end { foreach ([f+, l, p, s, d, devices, ports] in n) printf("%d %d %d %s %s %s %d: %d\n", f, l, p, s, d, devices, ports, n[f, l, p, s, d, devices, ports]) }""",
           f"exec {sys.executable} {both}").expect(err_match=r"""^2 128 17 127.0.0.1 127.0.0.1 (lo/|/lo) 1: 5
2 128 17 127.0.0.1 127.0.0.1 (lo/|/lo) 1: 5
10 148 17 0:0:0:0:0:0:0:1 0:0:0:0:0:0:0:1 lo/ 1: 5$""")
    # A packet of UDP, and a connection of TCP that one side closes first: what they have in their headers, and in their bytes.
    stream = temporary_directory() / "stream.py"
    stream.write_text(r"""import socket
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
r.sendto(b"GET \0 /", r.getsockname())
l = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(l.getsockname())
d = l.accept()[0]
c.sendall(b"data")
c.shutdown(1)
while d.recv(100): pass
d.close()
""")
    kernel(r"""global syns, fins, resets, replies, pushes, sent, hex
    probe netfilter.ip.local_in { if (pf == "ipv4") { syns += syn; fins += fin; resets += rst + urg; replies += syn && ack; pushes += psh
      if (protocol == ipproto_udp) { sent = substr(data_str, strlen(data_str) - 11, 12); hex = substr(data_hex, 2 * length - 14, 14) } } }
    probe end { printf("%d %d %d %d %d %s %s", syns, fins, resets, replies, pushes, sent, hex) }""",
           f"exec {sys.executable} {stream}").expect(err=r'2 2 0 1 1 GET \000 /" 4745542000202f')
