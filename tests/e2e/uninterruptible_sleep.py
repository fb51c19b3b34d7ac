# A process in uninterruptible sleep (state D) is waited for; Ctrl-C gives up.
from spiletest import *

SCRIPT = 'global n probe process.function("work") { n++ } probe end { println(n) }'


def sleeping(milliseconds):
    """In state D, and the script has been compiled before."""
    process = start(program("sleeper"), milliseconds, ready="ready", stdin=subprocess.PIPE)
    spile("-p4", "-e", SCRIPT, "-x", process.pid).expect(status=0)
    process.stdin.write(b"\n")
    process.stdin.flush()
    wait_until(lambda: "\nState:\tD" in pathlib.Path(f"/proc/{process.pid}/status").read_text(), 10, "state D")
    return process


sleeper = sleeping(4000)
session = Session("-v", "-e", SCRIPT, "-x", sleeper.pid)
wait_until(lambda: "Armed" in session.read(session.err), 10, "arming")
sleeper.stdin.write(b"\n")
sleeper.stdin.flush()
expect(sleeper.stdout.readline(), b"sum 14950\n")
finish(sleeper)
session.wait().expect(out="100\n", status=0, err_match=r"^Process \d+ is in uninterruptible sleep \(state D\); waiting for it")

sleeper = sleeping(60000)
session = Session("-e", SCRIPT, "-x", sleeper.pid)
wait_until(lambda: "waiting for it" in session.read(session.err), 10, "the message")
before = time.monotonic()
session.stop(timeout=5).expect(status=1, err_match="state D.*interrupted")
expect_true(time.monotonic() - before < 2, "Ctrl-C is obeyed at once")
subprocess.run(["kill", "-KILL", *pathlib.Path(f"/proc/{sleeper.pid}/task/{sleeper.pid}/children").read_text().split()])
sleeper.stdin.write(b"\n")
sleeper.stdin.flush()
expect(sleeper.stdout.readline(), b"sum 14950\n")
expect_untouched(sleeper.pid)
