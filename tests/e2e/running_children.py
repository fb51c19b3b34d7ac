# variants: taken left refused
# -x takes the children that run already, theirs, and those that are forked meanwhile: none is missed, none counted twice.
from spiletest import *

COUNT = 'global n, seen probe process.function("work") { n++ seen[pid()]++ } probe end { foreach (p in seen) if (seen[p] != 10) odd++ printf("%d odd %d\\n", n, odd) }'

if VARIANT == "taken":
    master = start(program("family"), 30, ready="ready")
    session = Session("-v", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    result = session.wait().expect(status=0, err_match=r"^\d\d+ children of process \d+ are traced, too: \d+ ")
    members = int(re.search(r"members (\d+)", finish(master)).group(1))
    expect(result.out, f"{members * 10} odd 0\n", "hits in all of them")
elif VARIANT == "left":
    master = start(program("family"), 5, "traced", ready="ready")
    time.sleep(0.1)
    session = Session("-v", "--no-children", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    session.wait().expect(status=0, out="0 odd 0\n")
else:
    master = start(program("family"), 5, "traced", ready="ready")
    time.sleep(0.1)
    session = Session("-v", "-e", COUNT, "-x", master.pid).attached(master.pid)
    master.send_signal(signal.SIGUSR1)
    session.wait().expect(status=0, out="50 odd 0\n",
                          err_match=r"^WARNING: 1 of 6 children is not traced: attach \d+: already traced by process \d+ \(family\)")
