# Arrays keyed by numbers, strings and several of both; exact with several threads.
from spiletest import *

spile("-e", r"""global a, mixed
probe process.function("foo") { a[$arg & 63]++; mixed[execname(), $arg & 1, "x"] += 2 }
probe end {
  foreach (k+ in a) { n++; if (a[k] != 2000) printf("a[%d] is %d\n", k, a[k]) }
  printf("%d elements\n", n)
  foreach ([e, b+, x] in mixed) printf("%s %d %s %d\n", e, b, x, mixed[e, b, x])
}""", "-c", f"{program('calls')} 64000 2", "-o", "/dev/stderr").expect(
    err="64 elements\ncalls 0 x 128000\ncalls 1 x 128000\n")

# Each thread's share has room for its keys, all of them together have not: an error, never a table with less.
result = spile("-e", 'global a[1000] probe process.function("foo") { a[tid() * 1000 + $arg] <<< 1 } '
               'probe end { foreach (k in a) n++ println(n) }',
               "-c", f"{program('calls')} 600 4")
result.expect(status=1, err_match="^ERROR: Array overflow, check ")
