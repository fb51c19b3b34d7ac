# variants: 1 2 4 16
# Threads that hit the same probe at once lose no count.
from spiletest import *

threads = int(VARIANT)
result = spile("-e", 'global c probe process.function("foo") { c++ } probe end { printf("count %d\\n", c) }',
               "-c", f"{program('calls')} 500000 {threads}")
result.expect(out_match=rf"^count {500000 * threads}$")
expect_match(rf"^foo {threads * (3 * 500000 * 499999 // 2 + 500000)}$", result.out)
