# A process in uninterruptible sleep (state D) is waited for; Ctrl-C gives up.
from spiletest import *

SCRIPT = 'global n probe process.function("work") { n++ } probe end { println(n) }'


def sleeping(milliseconds):
    """In state D, and the script has been compiled before."""
    process = start(program("sleeper"), milliseconds, ready="ready", stdin=subprocess.PIPE)
    spile("-p4", "-e", SCRIPT, "-x", process.pid).expect(status=0)
    process.stdin.write(b"\n")
    process.stdin.flush()
    wait_state(process.pid, "D")
    return process


sleeper = sleeping(4000)
session = Session("-v", "-e", SCRIPT, "-x", sleeper.pid)
session.wait_message("^Armed")
sleeper.stdin.write(b"\n")
sleeper.stdin.flush()
expect(sleeper.stdout.readline(), b"sum 14950\n")
finish(sleeper)
session.wait().expect(out="100\n", status=0, err_match=r"^Process \d+ is in uninterruptible sleep \(state D\); waiting for it")

sleeper = sleeping(60000)
session = Session("-e", SCRIPT, "-x", sleeper.pid)
session.wait_message("waiting for it")
session.stop(timeout=30).expect(status=1, err_match="state D.*interrupted")
expect(state(sleeper.pid), "D", "the program's state: Ctrl-C is obeyed before its 60 s are over")
subprocess.run(["kill", "-KILL", *pathlib.Path(f"/proc/{sleeper.pid}/task/{sleeper.pid}/children").read_text().split()])
sleeper.stdin.write(b"\n")
sleeper.stdin.flush()
expect(sleeper.stdout.readline(), b"sum 14950\n")
expect_untouched(sleeper.pid)
