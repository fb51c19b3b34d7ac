# Attach to a running program with threads; Ctrl-C runs the end probes and leaves the program as it was.
from spiletest import *

target = server(threads=2)
session = Session("-e", 'global c probe process.function("work") { c++ } probe end { printf("c %d\\n", c > 1000) }',
                  "-x", target.pid).attached(target.pid)
wait_turns(target.pid)
session.stop().expect(out="c 1\n", status=0)
expect_untouched(target.pid)
expect_match(r"^calls \d+ wrong 0$", finish(target))
expect(target.returncode, 0, "the program's status")
