# Without any privilege, on processes of one's own: -c and -x.
from spiletest import *

if os.geteuid() != 0:
    user = None
else:
    user = "nobody"
script = 'global c probe process.function("%s").return { c++ } probe end { printf("c %%d\\n", c > 0) }'
spile("-e", script % "foo", "-c", f"{program('calls')} 1000", user=user, cwd="/").expect(out_match="^c 1$", status=0)
target = start(program("server"), 30, 1, ready="ready", user=user)
session = Session("-e", script % "work", "-x", target.pid, user=user).attached(target.pid)
wait_turns(target.pid)
session.stop().expect(out="c 1\n", status=0)
expect_untouched(target.pid)
