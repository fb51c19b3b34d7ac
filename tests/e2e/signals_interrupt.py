# A signal handler that interrupts probed code a thousand times a second, and calls the probed function itself.
from spiletest import *

result = spile("-e", r"""global main, other, returns probe process.function("foo") { if ($arg < 0) other++ else main++ }
probe process.function("foo").return { returns++ }
probe end { printf("main %d other %d returns %d\n", main, other, returns) }""",
               "-c", f"{program('signals')} 20000000").expect(status=0, out_match="^foo 599999990000000 wrong 0$")
main, other, returns = [int(n) for n in re.search(r"^main (\d+) other (\d+) returns (\d+)", result.out, re.M).groups()]
interrupts = int(re.search(r"^handler (\d+)", result.err, re.M).group(1))
# A hit inside a handler that the signal interrupted is skipped, and counted as skipped: none may be seen twice.
expect_true(20000000 - interrupts <= main <= 20000000 and other <= interrupts, f"hits: {main} {other} of {interrupts}")
expect_true(main + other - interrupts <= returns <= main + other, f"returns: {returns}")
