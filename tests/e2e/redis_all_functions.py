# All functions of a live redis-server at once: a top-functions table, and redis is left as it was.
from spiletest import *

redis = Redis()
load = redis.benchmark("-c", 50, "-n", 10_000_000, "-t", "set,get")
session = Session("-e", """global n probe process.function("*").call { n[ppfunc()]++ }
probe end { foreach (f in n- limit 10) printf("%-30s %d\\n", f, n[f]) }""", "-x", redis.pid).attached(redis.pid)
redis.wait_commands()
result = session.stop().expect(status=0)
expect(len(result.out.splitlines()), 10, "lines of the table")
counts = [int(line.split()[1]) for line in result.out.splitlines()]
expect(counts, sorted(counts, reverse=True), "counts in descending order")
expect_untouched(redis.pid)
expect(redis.command("PING"), "PONG")
expect(load.poll(), None, "redis-benchmark's status")
