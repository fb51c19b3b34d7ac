# A program whose control group is frozen: spile waits until it is thawed and leaves it as it was; if that takes too long it says what
# is left, and how to take it out, which works.
# variants: thawed left
from spiletest import *

SCRIPT = 'global c probe process.function("work") { c++ } probe end { println("c ", c > 0) }'


def freezer():
    """A group of our own, and how to freeze and thaw it."""
    for parent in ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]:
        group = pathlib.Path(parent) / f"spile-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        atexit.register(lambda: group.rmdir())
        for name, states in [("freezer.state", ("FROZEN", "THAWED")), ("cgroup.freeze", ("1", "0"))]:
            if (group / name).exists():
                return group, lambda on: (group / name).write_text(states[0 if on else 1])
    skip("no control group can be made here that freezes")


group, freeze = freezer()
target = server(seconds=60)
(group / "cgroup.procs").write_text(str(target.pid))
atexit.register(lambda: (freeze(False), target.kill(), target.wait(), time.sleep(0.1)))
session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
time.sleep(0.3)
freeze(True)
time.sleep(0.2)
session.process.send_signal(signal.SIGINT)
wait_until(lambda: "is frozen by its control group" in session.read(session.err), 20, "the warning", lambda: session.read(session.err))
if VARIANT == "thawed":
    freeze(False)
    session.wait().expect(status=0, out="c 1\n")
else:
    session.process.send_signal(signal.SIGINT)  # no longer
    session.wait().expect(status=1, out="c 1\n", err_match=f"spile -x {target.pid} -e 'probe process.begin")
    freeze(False)
    expect_true(foreign_mappings(target.pid), "nothing is left")
    spile("-x", target.pid, "-e", "probe process.begin { exit() }").expect(status=0)
expect_untouched(target.pid)
expect_match("wrong 0", finish(target))
