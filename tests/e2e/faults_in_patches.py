# A program that handles faults sees them at its own instructions, also those that probes have displaced, and goes on from there:
# by an exception, once more, or behind them. Each call is counted once.
from spiletest import *

binary = program("faults")
own = start(binary).communicate()[0].decode()
expect(own, "caught 45 mended 30 skipped 30 count 45 sum 275 strange 0\n")
CALLS = {"divides": 30, "first_loads": 75, "second_loads": 45}
for handler in ["n[ppfunc()]++", "n[ppfunc()] += strlen(sprintf(\"%d\", tid())) > 0"]:
    result = spile("-e", "global n " + "".join(f'probe process.function("{name}").call {{ {handler} }}\n' for name in CALLS) +
                   'probe end { foreach (f+ in n) printf("%s %d\\n", f, n[f]) }', "-c", binary)
    result.expect(status=0, out=own + "".join(f"{name} {calls}\n" for name, calls in CALLS.items()))
# With system calls traced besides, whose stops the same thread has.
result = spile("-e", """global n, calls probe process.function("first_loads") { n++ }
    probe process.syscall { if ($syscall == 110) calls++ }
    probe end { println(n, " ", calls) }""", "-c", binary).expect(status=0)
expect(result.out, own + "75 180\n")
# Returns too: what an exception has left has none.
result = spile("-e", 'global r probe process.function("divides").return, process.function("second_loads").return { r++ } '
                     'probe end { println(r) }',
               "-c", binary).expect(status=0)
expect(result.out, own + f"{30 - 10 + 45 - 20}\n")
