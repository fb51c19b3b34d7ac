# Programs under a seccomp filter that kills them (or sends SIGSYS, or refuses) for a call of ours: root suspends the filter
# meanwhile, others are told no, and nobody comes to harm.
# variants: kill trap errno
from spiletest import *

if os.geteuid() != 0:
    skip("needs root to become another user and to suspend filters")
SCRIPT = 'global c probe process.function("foo") { c++ } probe end { printf("c %d\\n", c) }'


def begin(*more, user=None):
    return start(program("filtered"), VARIANT, *more, ready="ready", user=user, stdin=subprocess.PIPE)


def calls(target, line):
    target.stdin.write(line.encode() + b"\n")
    target.stdin.flush()
    expect(target.stdout.readline().decode(), "child 3.0 traps 0\n")


# Attached to as root: as exact as any, in threads and children too.
target = begin()
session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
calls(target, "1000 100 10")
session.stop().expect(out="c 1110\n", status=0)
expect_untouched(target.pid)
calls(target, "5 5 5")

# By its owner, who may not suspend the filter.
target = begin(user="nobody")
spile("-e", SCRIPT, "-x", target.pid, user="nobody", cwd="/").expect(status=1, err_match="seccomp filter.*may kill it")
expect_untouched(target.pid)
calls(target, "5 5 5")

# The filter is put on after the probes.
command = f"{program('filtered')} {VARIANT}"
for user in None, "nobody":
    result = spile("-e", SCRIPT, "-c", command, user=user, cwd="/", input="1000 100 10\n")
    result.expect(out="ready\nchild 3.0 traps 0\nc 1111\n", status=0)

# Bad pointers in handlers, for longer than a second: what can't be looked after under the filter is no trouble if nothing is
# lost.
bad = 'global c, sum probe process.function("foo") { c++ sum += user_long(1) } probe end { printf("c %d %d\\n", c, sum) }'
result = spile("-e", bad, "-c", command, user="nobody", cwd="/", input="40000 1 1\n")
result.expect(out="ready\nchild 3.0 traps 0\nc 40003 0\n", status=0)
expect_true("WARNING" not in result.err, str(result))
