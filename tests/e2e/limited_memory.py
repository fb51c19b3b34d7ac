# A limited address space (ulimit -v): probed where it has room for it, else an error that says what to do.
from spiletest import *

calls = program("calls")
SCRIPT = """global c, s probe process("CALLS").function("foo") { c++; s[tid()]++ } probe process("CALLS").function("foo").return { c++ }
probe end { printf("%d %d\\n", c, s[target()]) }""".replace("CALLS", calls)
for limit in [1 << 20, 100 << 10]:
    result = spile("-e", SCRIPT, "-c", f"sh -c 'ulimit -v {limit}; exec {calls} 1000'").expect(status=0)
    expect_match(r"^2000 1000$", result.out, f"counts with {limit} KiB")
tight = spile("-e", SCRIPT, "-c", f"sh -c 'ulimit -v 12000; exec {calls} 1000'")
expect_match(r"address space is limited to 11 MiB \(RLIMIT_AS\).*prlimit --pid", tight.err, "the error")
# spile itself may be limited, and what it starts with it.
limited = subprocess.run(["sh", "-c", f"ulimit -v 3000000; exec {SPILE} -e '{SCRIPT}' -c '{calls} 1000'"], capture_output=True, text=True)
expect_match(r"^2000 1000$", limited.stdout, "counts of a limited spile: " + limited.stderr)
