# Two CPUs that print from the first moment on, as the command's threads are released once the probes are armed: each record comes
# out, in the order of its thread.
import collections
from spiletest import *

if os.geteuid() != 0:
    skip("needs root")
rounds = 80000  # all fit into the rings, however seldom spile gets to run
printed = temporary_directory() / "printed"
spile("-o", printed, "-e", 'global n probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) printf("%d '
                           '%d\\n", tid(), n[tid()]++) }', "-c", f"{program('steps')} {rounds} 2").expect(status=0, err="")
calls = collections.Counter()
with open(printed) as lines:
    for line in lines:
        thread, number = line.split()
        expect(int(number), calls[thread], f"the next of thread {thread}")
        calls[thread] += 1
expect(sorted(calls.values()), [rounds, rounds])
