# Functions that call one another last, in one place of the stack (coroutines that resume one another, interpreters): returns are
# counted or said to be missed, those of other functions are all counted, and an exception does not cost what the chain is long.
from spiletest import *

SCRIPT = r"""global c, r, ends, leaves
probe process.function("ping").call, process.function("pong").call { c++ }
probe process.function("ping").return, process.function("pong").return { r++ }
probe process.function("end_of_chain").return { ends++ } probe process.function("leaf").return { leaves++ }
probe end { printf("%d %d %d %d\n", c, r, ends, leaves) }"""

def run(length, rounds, *more):
    command = f"{program('chained')} {length} {rounds} {' '.join(map(str, more))}"
    result = spile("-DMAXSKIPPED=0", "-e", SCRIPT, "-c", command).expect(status=0)
    plain = subprocess.run([program("chained"), str(length), str(rounds)], capture_output=True, text=True).stdout
    own, *throw, counts = result.out.splitlines()
    if not more:
        expect(own + "\n", plain, "the program's own output")
    missed = re.search(r"(\d+) return probes missed, more pending returns than there is room for", result.err)
    calls, returns, ends, leaves = map(int, counts.split())
    expect((calls, ends, leaves), (length * rounds, rounds, 10 * rounds), f"calls and returns of chains of {length}")
    expect(returns + (int(missed[1]) if missed else 0), calls, f"returns and missed ones of chains of {length}")
    return returns, float(throw[0].split()[1]) if throw else 0

for length in (1, 2, 500, 1000):
    expect(run(length, 20)[0], 20 * length, f"returns of chains of {length}, which all have room")
for length in (1025, 5000, 40000):
    returns, _ = run(length, 20)
    expect_true(returns >= 20 * 1000, f"{returns} returns of 20 chains of {length}")

# With all 16,384 frames of a thread to look through a throw took 350,000 ns. Other processes may have the caches.
for _ in range(5):
    short, long = run(2, 20, 50)[1], run(40000, 20, 50)[1]
    print(f"a throw: {short} ns in a chain of 2, {long} ns in one of 40,000")
    if long < short + 60000:
        break
expect_true(long < short + 60000, f"a throw takes {long} ns in a chain of 40,000, {short} ns in one of 2")
