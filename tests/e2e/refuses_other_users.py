# Somebody else's process: refused, with what to do, and untouched.
from spiletest import *

user = "nobody" if os.geteuid() == 0 else None
target = server(seconds=30) if user else None
pid = target.pid if target else 1
spile("-e", 'probe process.function("work") { }', "-x", pid, user=user, cwd="/").expect(
    status=1, out="", err_match=rf"{pid}.*: .*(not permitted|denied)(?s:.*)root")
if target:
    expect_untouched(pid)
    expect_match("wrong 0", finish(target))
