# spile dies by SIGKILL while armed: the program runs on, correct; the next spile attaches and cleans up.
from spiletest import *

target = server(seconds=100, threads=2)
script = 'global c probe process.function("work").return { c++ } probe end { printf("c %d\\n", c > 100) }'
session = Session("-e", script, "-x", target.pid).attached(target.pid)
time.sleep(0.3)
session.process.kill()
session.process.wait()
time.sleep(0.5)
expect(target.poll(), None, "the program's status")
again = Session("-e", script, "-x", target.pid)
time.sleep(1.5)
again.stop().expect(out="c 1\n", status=0)
expect_untouched(target.pid)
expect_match(r"^calls \d+ wrong 0$", finish(target))
expect(target.returncode, 0, "the program's status")
