# Stacks through code that the process makes have the names that it writes for perf: printed in handlers in the process and in the
# kernel, and from values at the end.
from spiletest import *

made = r"^ 0x\w+ : target\+0x0/0x\w+ \[.*\]\n 0x\w+ : made_code \[JIT\]\n 0x\w+ : main\+"
script = ('global n, kept probe process.function("target") { if (++n == 3) { print_ubacktrace(); kept = ubacktrace(); '
          'println("--"); print_ubacktrace_brief() } } probe end { println("--"); print_usyms(kept) }')
for places in [["--runtime=inproc"]] + ([["--runtime=bpf"]] if os.geteuid() == 0
                                        and tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 12) else []):
    printed, brief, kept = spile(*places, "-e", script, "-c", f"{program('makes_code')} 5").expect(status=0).out.split("--\n")
    expect_match(made, printed)
    expect_match(r"^target\+0x0\nmade_code\nmain\+", brief)
    expect_match(made, kept)
