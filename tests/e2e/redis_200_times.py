# alone
# Two hundred times attached to and detached from redis under load; it answers all along and no byte has changed.
from spiletest import *

redis = Redis()
load = redis.benchmark("-c", 50, "-n", 100_000_000, "-t", "set,get")
script = r"""global c probe process.function("*Command") { c++ } probe process.function("processCommand").return { c++ }
probe timer.ms(100) { exit() } probe end { println(c > 0) }"""
missed = 0
for turn in range(200):
    missed += spile("-e", script, "-x", redis.pid).expect(status=0).out != "1\n"
    expect_untouched(redis.pid)
    expect(redis.command("INCR", "turns"), str(turn + 1))
expect_true(missed <= 2, f"{missed} of 200 sessions saw no command")
expect(load.poll(), None, "redis-benchmark's status")
