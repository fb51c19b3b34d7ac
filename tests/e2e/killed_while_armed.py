# spile dies by SIGKILL while armed: the program runs on, correct; the next spile attaches and cleans up.
from spiletest import *

target = server(seconds=100, threads=2)
script = 'global c probe process.function("work").return { c++ } probe end { printf("c %d\\n", c > 100) }'
session = Session("-e", script, "-x", target.pid).attached(target.pid)
wait_turns(target.pid)
session.process.kill()
session.process.wait()
wait_turns(target.pid)
expect(target.poll(), None, "the program's status")
again = Session("-v", "-e", script, "-x", target.pid).attached(target.pid)
wait_turns(target.pid)
again.stop().expect(out="c 1\n", status=0)
expect_untouched(target.pid)
expect_match(r"^calls \d+ wrong 0$", finish(target))
expect(target.returncode, 0, "the program's status")
