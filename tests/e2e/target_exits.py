# The program ends by itself while attached: spile sees it, runs the end probes and ends too.
from spiletest import *

target = server(seconds=2, threads=2)
session = Session("-e", 'global c probe process.function("work") { c++ } probe end { printf("c %d\\n", c > 100) }',
                  "-x", target.pid).attached(target.pid)
expect_match(r"^calls \d+ wrong 0$", target.communicate(timeout=300)[0].decode())
session.wait(20 * PATIENCE).expect(out="c 1\n", status=0)
