# A program stopped by SIGSTOP can be attached and left; it goes on only when it is told to.
from spiletest import *

target = server(seconds=60)
target.send_signal(signal.SIGSTOP)
wait_until(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{target.pid}/status").read_text(), 30, "the stop")
session = Session("-e", 'global c probe process.function("work") { c++ } probe end { printf("%d\\n", c) }',
                  "-x", target.pid).attached(target.pid)
time.sleep(0.3)
session.stop().expect(out="0\n", status=0, err_match=rf"WARNING: process {target.pid} is stopped \(state T\)")
# The kernel wakes it for an instant, to stop again by itself.
wait_until(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{target.pid}/status").read_text(), 30, "the stop to go on")
target.send_signal(signal.SIGCONT)
expect_untouched(target.pid)
expect_match("wrong 0", finish(target))
