# A program that a debugger holds: refused, saying so.
from spiletest import *

target = server(seconds=60)
debugger = start(installed("gdb"), "-nx", "-q", "-batch", "-p", target.pid, "-ex", "shell echo attached",
                 "-ex", "shell sleep 20", ready="^attached")
spile("-e", 'probe process.function("work") { }', "-x", target.pid).expect(
    status=1, out="", err_match=f"{target.pid}.*(traced|debug|not permitted)")
