# An entry's timestamp kept until the return of the same call, and an aggregate of the differences.
from spiletest import *

result = spile("-e", r"""global t
probe process.function("foo").return { t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }
probe end { printf("count %d min %d max %d\n", @count(t), @min(t), @max(t)); print(@hist_log(t)) }
""", "-c", f"{program('calls')} 100000 2", "-o", "/dev/stderr").expect(status=0)
count, least, most = [int(n) for n in re.search(r"count (\d+) min (-?\d+) max (\d+)", result.err).groups()]
expect(count, 200000)
expect_true(0 <= least <= most < 10**9, f"latencies between {least} and {most} ns")
expect_match(r"^ *value \|-+ count$", result.err, "the histogram")
