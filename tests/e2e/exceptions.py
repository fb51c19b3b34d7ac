# variants: throws throws_static
# C++ exceptions thrown through frames whose entry and return are probed: the program is unharmed, and each call either
# has its return seen, or is told as missed.
from spiletest import *

result = spile("-e", r"""global entered, left
probe process.function("thrower"), process.function("middle"), process.function("catcher") { entered++ }
probe process.function("thrower").return, process.function("middle").return, process.function("catcher").return { left++ }
probe end { printf("entered %d left %d\n", entered, left) }""", "-c", f"{program(VARIANT)} 1000").expect(status=0)
own = start(program(VARIANT), 1000).communicate()[0].decode()
left = int(re.search(r"^entered 3000 left (\d+)$", result.out, re.M).group(1))
expect(result.out, own + f"entered 3000 left {left}\n")
missed = re.search(r"^WARNING: (\d+) return probes missed, an exception", result.err, re.M)
# thrower and middle return for the 500 even numbers; 500 calls of each are left by the exception.
expect_true(1500 <= left <= 2000 and left + int(missed.group(1) if missed else 0) in (3000, 2000), str(result))
