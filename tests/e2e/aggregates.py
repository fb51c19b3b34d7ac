# Aggregates of an argument: exact count, sum, minimum, maximum, average, and both histograms' totals.
from spiletest import *

spile("-e", r"""global s, by
probe process.function("foo") { s <<< $arg; by[$arg & 3] <<< $arg }
probe end {
  printf("%d %d %d %d %d\n", @count(s), @sum(s), @min(s), @max(s), @avg(s))
  foreach (k+ in by) printf("%d: %d %d\n", k, @count(by[k]), @sum(by[k]))
}""", "-c", f"{program('calls')} 1000 2", "-o", "/dev/stderr").expect(
    err="2000 999000 0 999 499\n0: 500 249000\n1: 500 249500\n2: 500 250000\n3: 500 250500\n")
