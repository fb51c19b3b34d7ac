# A program that a debugger holds: refused, saying so.
from spiletest import *

target = server(seconds=60)
debugger = start(installed("gdb"), "-nx", "-q", "-batch", "-p", target.pid, "-ex", "shell echo attached",
                 "-ex", "shell read line", ready="^attached", stdin=subprocess.PIPE)  # it holds the program until the test ends
spile("-e", 'probe process.function("work") { }', "-x", target.pid).expect(
    status=1, out="", err_match=f"{target.pid}.*(traced|debug|not permitted)")
