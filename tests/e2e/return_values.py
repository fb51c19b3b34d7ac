# $return of each return, with recursion, on the thread that entered.
from spiletest import *

spile("-e", r"""global sum, deepest, depth
probe process.function("foo").return { sum += $return }
probe process.function("fibonacci") { depth++; if (depth > deepest) deepest = depth }
probe process.function("fibonacci").return { depth-- }
probe end { printf("sum %d deepest %d depth %d\n", sum, deepest, depth) }
""", "-c", f"{program('calls')} 1000", "-o", "/dev/stderr").expect(err="sum 1499500 deepest 15 depth 0\n")
