# Spiles of different users: one trusts root and its own user, and nobody else; nor whoever takes a tracer's name.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root to become another user")
script = 'global n probe process.function("work") { n++ } probe end { println(n > 0) }'
target = start(program("server"), 60, 1, ready="ready", user="nobody")

# A host of an ordinary user's: root's spile sends it neither its handlers nor its arena.
host = Session("-v", "-e", script, "-x", target.pid, user="nobody").attached(target.pid)
spile("-e", script, "-x", target.pid).expect(status=1, out="",
                                             err_match=rf"attach {target.pid}: a spile of another user .*not trusted")
# Its own user's may be its guest.
guest = Session("-v", "-e", script, "-x", target.pid, user="nobody").attached(target.pid)
wait_turns(target.pid)
guest.stop().expect(out="1\n", status=0)
host.stop().expect(out="1\n", status=0)

# A host of root's serves no other user; what that one sends is not looked at.
host = Session("-v", "-e", script, "-x", target.pid).attached(target.pid)
spile("-e", script, "-x", target.pid, user="nobody").expect(status=1, out="", err_match="serves only its own user")
host.stop().expect(out="1\n", status=0)
expect_untouched(target.pid)
