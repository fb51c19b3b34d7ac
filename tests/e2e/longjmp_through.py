# longjmp out of probed frames, and setjmp, which returns twice, inside one.
from spiletest import *

result = spile("-e", r"""global entered
probe process.function("jumper"), process.function("through") { entered++ }
probe process.function("jumper").return, process.function("through").return, process.function("landing").return { }
probe end { printf("entered %d\n", entered) }""", "-c", f"{program('jumps')} 900")
own = start(program("jumps"), 900).communicate()[0].decode()
result.expect(out=own + "entered 1800\n", status=0)
