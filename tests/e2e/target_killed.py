# The program dies by a signal in the middle of it all: the end probes print what was counted.
from spiletest import *

target = server(seconds=50, threads=2)
session = Session("-e", 'global c probe process.function("work") { c++ } probe end { printf("c %d\\n", c > 100) }',
                  "-x", target.pid).attached(target.pid)
wait_turns(target.pid)
target.kill()
session.wait(20 * PATIENCE).expect(out="c 1\n")
