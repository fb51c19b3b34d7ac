# A program whose control group is frozen: spile waits until it is thawed and leaves it as it was; if that takes too long it says
# what is left, and how to take it out, which works.
# variants: thawed left
from spiletest import *

SCRIPT = 'global c probe process.function("work") { c++ } probe end { println("c ", c > 0) }'


def remove(group):
    """A group can be removed when the kernel has done with the processes that were in it."""
    def removed():
        try:
            group.rmdir()
        except OSError:
            return False
        return True

    wait_until(removed, 20, f"{group} to be empty")


def freezer():
    """A group of our own, how to freeze and thaw it, and whether it is frozen."""
    for parent in ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]:
        group = pathlib.Path(parent) / f"spile-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        atexit.register(remove, group)
        for name, states, report, frozen in [("freezer.state", ("FROZEN", "THAWED"), "freezer.state", "FROZEN"),
                                             ("cgroup.freeze", ("1", "0"), "cgroup.events", "frozen 1")]:
            if (group / name).exists():
                return (group, lambda on: (group / name).write_text(states[0 if on else 1]),
                        lambda: frozen in (group / report).read_text())
    skip("no control group can be made here that freezes")


group, freeze, frozen = freezer()
target = server(seconds=60)
(group / "cgroup.procs").write_text(str(target.pid))
atexit.register(lambda: (freeze(False), target.kill(), target.wait()))
session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
wait_turns(target.pid)
freeze(True)
wait_until(frozen, 30, "the program to be frozen")
session.process.send_signal(signal.SIGINT)
session.wait_message("is frozen by its control group")
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
