# variants: throws throws_static
# C++ exceptions thrown through frames whose entry and return are probed: the program is unharmed, a frame that
# catches has its return seen, and one that the exception leaves has none.
from spiletest import *

result = spile("-e", r"""global entered, left
probe process.function("thrower"), process.function("middle"), process.function("catcher") { entered++ }
probe process.function("thrower").return, process.function("middle").return, process.function("catcher").return { left++ }
probe end { printf("entered %d left %d\n", entered, left) }""", "-c", f"{program(VARIANT)} 1000").expect(status=0)
own = start(program(VARIANT), 1000).communicate()[0].decode()
# thrower and middle return for the 500 even numbers; the exception leaves them for the others, and catcher catches it.
expect(result.out, own + "entered 3000 left 2000\n")
expect_true("missed" not in result.err, str(result))
