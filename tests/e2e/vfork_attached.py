# A process is attached to, let go, and left behind by a killed spile, while a child that it has vforked runs in its
# memory: neither is harmed, and the next spile puts everything right.
from spiletest import *

COUNT = """global n probe process("%s").function("foo") { n++ } probe process("%s").function("foo").return { }
probe timer.ms(5) { if (n) println("hit") } probe end { }""" % ((program("vforks"),) * 2)
target = start(program("vforks"), 120, ready="ready")
for number in range(20):
    session = Session("-e", COUNT, "-x", target.pid)
    attached = number % 5 < 4
    if attached:
        session.wait_output("^hit$")
    time.sleep(number % 7 * 0.003)  # other moments each time
    if attached and number % 2:
        session.stop().expect(status=0)
        expect_untouched(target.pid)
    else:
        session.process.kill()
        session.process.wait()
session = Session("-e", COUNT, "-x", target.pid).wait_output("^hit$")
session.stop().expect(status=0)
expect_untouched(target.pid)
expect_match(r"^children \d+ wrong 0$", finish(target), "the program's own account")
expect(target.returncode, 0, "the program's status")
