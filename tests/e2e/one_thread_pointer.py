# Threads, and processes in one memory, that have one thread pointer (clone(2) without CLONE_SETTLS): hits equal calls.
from spiletest import *

binary, calls = program("one_pointer"), 20_000
SCRIPT = 'global n, c probe process.function("probed") { n++ c <<< 1 } probe end { println(n, " ", @count(c)) }'
for kind in ["thread", "process", "bare"]:
    for round in range(3):
        result = spile("-e", SCRIPT, "-c", f"{binary} {kind} {calls}")
        result.expect(status=0, out=f"calls {2 * calls}\n{2 * calls} {2 * calls}\n")
