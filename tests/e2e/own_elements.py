# Threads that each use their own elements of an array, and numbers that each handler uses in one step, wait for nobody: no hit is
# skipped, however many threads are stopped in the midst of a handler.
# variants: times strings one_step killed
from spiletest import *

steps = program("steps")
THREADS, CALLS = 8, 50000


def run(script):
    result = spile("-e", script, "-c", f"{steps} {CALLS} {THREADS}").expect()
    expect_true("skipped" not in result.err, result.err)
    return result.out.replace(f"{CALLS * THREADS}\n", "", 1)  # what the program prints


if VARIANT == "times":
    out = run("""global begun, times, odd
probe process.function("step") { begun[tid()] = gettimeofday_ns() }
probe process.function("step").return { if (!(tid() in begun)) odd++; else { times <<< gettimeofday_ns() - begun[tid()];
  delete begun[tid()] } }
probe end { println(@count(times), " ", odd) }""")
    expect(out, f"{CALLS * THREADS} 0\n")

if VARIANT == "strings":
    # Any keys beside the thread's number, any values, in script functions too.
    out = run("""global texts, sums, wrong, right
function put(key) { texts[key, tid()] = sprintf("%d", tid()) }
function take:string(key) { return texts[key, tid()] }
probe process.function("step") { put("a"); t = tid(); sums[t, "n"] += 2; sums[t, "n"]-- }
probe process.function("step").return { if (take("a") == sprint(tid())) right++; else wrong++
  if (sums[tid(), "n"] == 1) delete sums[tid(), "n"]; else wrong++ }
probe end { println(right, " ", wrong) }""")
    expect(out, f"{CALLS * THREADS} 0\n")

if VARIANT == "one_step":
    out = run("""global n, twice
probe process.function("step") { if (++n == 3) twice++ }
probe process.function("step").return { if ((n += 2) == 3) twice++ }
probe end { println(n, " ", twice <= 1) }""")
    expect(out, f"{3 * CALLS * THREADS} 1\n")

if VARIANT == "killed":
    # A process that dies in the midst of a handler keeps none of another's threads waiting for long.
    script = """global begun, ended
probe process("%s").function("step") { begun[tid()] = gettimeofday_ns() }
probe process("%s").function("step").return { if (tid() in begun) { ended[pid()]++; delete begun[tid()] } }
probe end { foreach (p in ended) println(ended[p]) }""" % (steps, steps)
    shell = f"{steps} 100000000 4 & sleep 1; kill -9 $!; wait; exec {steps} {CALLS} {THREADS}"
    result = spile("-DMAXSKIPPED=0", "-e", script, "-c", f"sh -c '{shell}'").expect()
    expect_true(str(CALLS * THREADS) in result.out.split(), f"{result.out} {result.err}")
