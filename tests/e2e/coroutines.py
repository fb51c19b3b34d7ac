# Coroutines that take turns within probed functions, on any thread: each return is seen once, with its own entry's values.
from spiletest import *

result = spile("-e", r"""global steps, stepped, yields, yielded, wrong
probe process.function("step").call { steps++ }
probe process.function("yield").call { yields++ }
probe process.function("step").return { stepped++; wrong += $return != @entry($id) * 1000000 + @entry($i) + 1 }
probe process.function("yield").return { yielded++; wrong += $return != @entry($id) * 1000000 + $i }
probe end { printf("%d %d %d %d wrong %d\n", steps, stepped, yields, yielded, wrong) }""",
               "-c", f"{program('coroutines')} 20000").expect(status=0, err="")
result.expect(out="steps 40000 yields 53334\n40000 40000 53334 53334 wrong 0\n")
