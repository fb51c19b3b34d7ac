# variants: callees callees_gcc
# Calls that a function makes, and those behind them: distinguished from the same calls made by others, counted exactly, also
# where the returns of functions on the way are probed. Tail calls are calls; the calls behind them are not known.
from spiletest import *

PROGRAM, N = program(VARIANT), 1000
odd, one, two = N // 2, sum(i % 4 >= 1 for i in range(N)), sum(i % 4 >= 2 for i in range(N))
own = start(PROGRAM, N).communicate()[0].decode()


def counts(point, more=""):
    result = spile("-e", f"""global c
probe process.function("first").{point} {{ c[probefunc()]++ }}
{more}
probe end {{ foreach (f+ in c) printf("%s %d\\n", f, c[f]) }}""", "-c", f"{PROGRAM} {N}")
    expect(result.status, 0, f"{result}")
    expect(result.out.startswith(own), True, f"{result}")
    return {line.split()[0]: int(line.split()[1]) for line in result.out[len(own):].splitlines()}


direct = {"middle": N, "jumps": N, "again": N, "other": N}
expect(counts("callees"), direct, "callees")
expect(counts("callees(1)"), direct, "callees(1)")
expect(counts("callees(1).return"), direct, "callees(1).return")
second = {**direct, "leaf": 2 * N + odd + one, "middle": 2 * N, "jumped": N, "again": N + one}
expect(counts("callees(2)"), second, "callees(2)")
third = {**second, "leaf": 3 * N + odd + one + two, "again": N + one + two}
expect(counts("callees(3)"), third, "callees(3)")
# With return addresses replaced on the way; returns leave out what a tail call leads to.
returns = "\n".join(f'probe process.function("{f}").return {{ c["{f}.return"]++ }}'
                    for f in ["middle", "again", "other", "first"])
mixed = counts("callees(3)", returns)
expect({f: n for f, n in mixed.items() if not f.endswith(".return")}, third, "callees(3), with returns")
expect(mixed["middle.return"], 3 * N, "returns of middle")
expect(counts("callees(3).return"), {f: n for f, n in third.items() if f != "jumped"}, "callees(3).return")

# Variables and results are the callee's; a condition holds as well as the callers.
expect(counts('callee("middle") if ($x % 2)'), {"middle": odd}, "a condition")
result = spile("-e", """global c, sum
probe process.function("other").callee("leaf").return { c++; sum += $return - 3 * $x }
global last
probe process.function("jumps") { last = $x + 1 }
probe process.function("jumps").callee("jumped") { c++; sum += $x - last }
probe end { println(c, " ", sum) }""", "-c", f"{PROGRAM} {N}")
expect(result.out, f"{own}{3 * N} 0\n", f"{result}")

for point, message in [('callees(0)', "the number of levels must be from 1 to 16"), ('callees(17)', "from 1 to 16"),
                       ('callee("leaf")', "no call of 'leaf' in function 'first'"),
                       ('callee("midle")', "did you mean 'middle'?"), ('callee("middle").inline', "inline")]:
    spile("-p2", "-e", f'probe process.function("first").{point} {{ next }}', "-c",
          f"{PROGRAM} 1").expect(status=1, err_match=message)
spile("--runtime=bpf", "-p2", "-e", 'probe process.function("first").callees(2) { next }', "-c", f"{PROGRAM} 1").expect(
    status=1, err_match="calls can be chosen by their callers only in the process itself")
