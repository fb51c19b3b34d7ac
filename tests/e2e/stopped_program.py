# A program stopped by SIGSTOP can be attached and left; it goes on only at SIGCONT.
from spiletest import *

target = server(seconds=60)
target.send_signal(signal.SIGSTOP)
wait_state(target.pid, "T")
session = Session("-e", 'global c probe process.function("work") { c++ } probe end { printf("%d\\n", c) }',
                  "-x", target.pid).attached(target.pid)
time.sleep(0.3)  # nothing is to happen: time enough for calls, if the program ran
session.stop().expect(out="0\n", status=0, err_match=rf"WARNING: process {target.pid} is stopped \(state T\)")
# The kernel wakes it for an instant, to stop again by itself.
wait_state(target.pid, "T")
target.send_signal(signal.SIGCONT)
expect_untouched(target.pid)
expect_match("wrong 0", finish(target))
