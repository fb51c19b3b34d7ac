# Attached to and left while a shell starts programs as fast as it can: processes are being born, execute and end at any moment
# in which spile has them in its hands. None of that is an error, and nothing is said of it.
from spiletest import *

shell = start("sh", "-c", f"while :; do for k in 1 2 3 4; do '{program('calls')}' 10 > /dev/null & done; wait; done")
scripts = [
    f'process("{program("calls")}").function("*").return',
    "process.syscall",
    'process.library("libc*").function("malloc").return',
]
for turn in range(4):
    for point in scripts:
        result = spile("-w", "-e", f"global n, ticks probe {point} {{ n++ }} probe timer.ms(100) {{ if (++ticks >= 4 && "
                                   f"n > 0) exit() }} probe end {{ println(n) }}", "-x", shell.pid, timeout=60)
        result.expect(status=0)
        expect_true(result.err == "" and int(result.out) > 0, f"{point}: {result}")
expect_true(shell.poll() is None, "the shell goes on")
