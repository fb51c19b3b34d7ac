# variants: taken left refused
# -x takes the children that run already, theirs, and those that are forked meanwhile: none is missed, none counted twice.
from spiletest import *


def family_with_a_tracer():
    """Five children and a grandchild, and the first child is traced by its parent."""
    master = start(program("family"), 5, "traced", ready="ready")
    tracer = f"TracerPid:\t{master.pid}\n"
    wait_until(lambda: tracer in pathlib.Path(f"/proc/{children(master.pid)[0]}/status").read_text(), 60,
               "the first child to be traced")
    wait_until(lambda: any(children(child) for child in children(master.pid)), 60, "the grandchild")
    return master


COUNT = ('global n, seen probe process.function("work") { n++ seen[pid()]++ } probe end { foreach (p in seen) if (seen[p] != 10) '
         'odd++ printf("%d odd %d\\n", n, odd) }')

if VARIANT == "taken":
    master = start(program("family"), 30, ready="ready")
    session = Session("-v", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    result = session.wait().expect(status=0, err_match=r"^\d\d+ children of process \d+ are traced, too: \d+ ")
    members = int(re.search(r"members (\d+)", finish(master)).group(1))
    expect(result.out, f"{members * 10} odd 0\n", "hits in all of them")
elif VARIANT == "left":
    master = family_with_a_tracer()
    session = Session("-v", "--no-children", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    session.wait().expect(status=0, out="0 odd 0\n")
else:
    master = family_with_a_tracer()
    session = Session("-v", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    session.wait().expect(status=0, out="50 odd 0\n",
                          err_match=r"^WARNING: 1 of 6 children is not traced: attach \d+: already traced by process "
                                    r"\d+ \(family\)")
