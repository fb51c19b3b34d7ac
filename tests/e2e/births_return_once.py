# A thread that clone has made leaves that call, too, but has not made it: clone returns as often as it is called, in the threads
# that call it.
from spiletest import *

script = """global calls, returns, zeros, of_any
function ours() { return pid() == target() || ppid() == target() }
probe syscall.clone, syscall.clone3, syscall.vfork { calls += ours() }
probe syscall.clone.return, syscall.clone3.return, syscall.vfork.return { if (ours()) { returns++; zeros += retval == 0 } }
probe process.syscall.return { of_any += ours() && ($syscall == 56 || $syscall == 58 || $syscall == 435) }
probe end { printf("%d %d %d %d\\n", calls, returns, zeros, of_any) }"""
for runtime in ["inproc"] + (["bpf"] if os.geteuid() == 0 else []):
    for command in ("forks fork", "forks vfork", "threads"):
        name, *rest = command.split()
        made = spile("--runtime=" + runtime, "-e", script, "-c", " ".join([program(name), *rest, "20"]))
        expect_true("\n20 20 0 20\n" in made.out and made.status == 0 and not made.err,
                    f"{runtime}, {command}: {made.out}{made.err}")
