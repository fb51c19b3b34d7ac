# Attached to and detached from redis under load, 40 times, 200 times in the long form; it answers all along and no byte has
# changed.
# long
from spiletest import *

redis = Redis()
load = redis.benchmark("-c", 50, "-n", 100_000_000, "-t", "set,get")
script = r"""global c probe process.function("*Command") { c++ } probe process.function("processCommand").return { c++ }
probe timer.ms(10) { if (c > 0) exit() } probe end { println("ok") }"""
for turn in range(200 if LONG_FORM else 40):
    spile("-e", script, "-x", redis.pid).expect(status=0, out="ok\n")
    expect_untouched(redis.pid)
    expect(redis.command("INCR", "turns"), str(turn + 1))
expect(load.poll(), None, "redis-benchmark's status")
