# process("PATH").function as a uprobe, through eBPF: exact counts, an aggregate of an argument.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root; the virtual machine's tests cover it")
path = program("calls")
spile("--runtime=bpf", "-e", f"""global c, s probe process("{path}").function("foo") {{ c++; s <<< $arg }}
probe end {{ printf("%d %d %d\\n", c, @sum(s), @max(s)) }}""", "-c", f"{path} 2000").expect(
    out_match="^2000 1999000 1999$", status=0)
