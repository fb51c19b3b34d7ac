# Handlers in the kernel that ask the same function of the library for the names of flags, each for itself: the verifier follows
# every way through the function's conditions.
from spiletest import *

if os.geteuid() != 0:
    skip("handlers in the kernel need root")
for script in ('probe syscall.openat { if (pid() == target()) println(flags_str) } probe syscall.open { if (pid() == target()) '
               'println(flags_str) }',
               'probe syscall.openat { if (pid() == target()) println(argstr) } probe syscall.open { if (pid() == target()) '
               'println(argstr) } probe syscall.creat { println(argstr) }',
               'probe syscall.send { println(argstr) } probe syscall.recv { println(argstr) } probe syscall.openat { '
               'if (pid() == target()) println(argstr) }'):
    spile("--runtime=bpf", "-e", script, "-c", "cat /etc/hostname").expect(status=0, err="", out_match="O_RDONLY")
