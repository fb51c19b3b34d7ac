# A kernel tracepoint on this machine, through eBPF, filtered to one process.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root; the virtual machine's tests cover it")
spile("--runtime=bpf", "-e", """global c probe kernel.trace("sched:sched_switch") { if (pid() == target()) c[execname()]++ }
probe end { foreach (e in c) printf("%s %d\\n", e, c[e] > 2) }""", "-c", "for i in 1 2 3 4 5; do sleep 0.05; done").expect(
    status=0, out_match=r"^(sh|bash|dash) 1$")
