# Return probes and latencies in a live redis-server under load, each command once entered and once left.
from spiletest import *

redis = Redis()
load = redis.benchmark("-c", 50, "-n", 10_000_000, "-t", "set,get")
session = Session("-e", """global entered, left, t
probe process.function("processCommand") { entered++ }
probe process.function("processCommand").return { left++; t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }
probe end { printf("%d %d %d\\n", entered, left, @min(t)); print(@hist_log(t)) }""", "-x", redis.pid)
session.attached(redis.pid)
redis.wait_commands()
entered, left, least = session.stop().expect(status=0, out_match=r"value \|").numbers()[:3]
expect_true(entered > 1000 and 0 <= entered - left <= 1, f"entered {entered}, left {left}")
expect_true(least > 0, f"least latency {least}")
expect_untouched(redis.pid)
expect(redis.command("PING"), "PONG")
expect(load.poll(), None, "redis-benchmark's status")
