# A thread that blocks or ignores SIGSEGV and SIGTRAP meets bad pointers in handlers, and loads a library: the program's
# actions, and the thread's mask, are what they were, while spile is there, after it has gone, and after it was killed.
from spiletest import *

ROUNDS = 20
SCRIPT = """global bad, sum probe process.function("follow") { try { sum += $node->value } catch { bad++ } }
probe end { printf("bad %d %d\\n", bad, sum) }"""
LIBRARY = BUILD / "programs/libplugin.so"
KEPT = " 11 kept kept 7 kept kept 5 kept kept\n"


def begin(kind):
    return start(program("signal_actions"), kind, LIBRARY, ROUNDS, ready="ready", stdin=subprocess.PIPE)


def tell(target, line, handled):
    target.stdin.write(line.encode() + b"\n")
    target.stdin.flush()
    said = b"".join(target.stdout.readline() for _ in range(3)).decode()
    expect(said, f"blocked:{KEPT}open:{KEPT}handled {handled}\n")


for kind, first in ("caught", 3), ("ignored", 0):
    # Actions that were there before, and some that came later.
    target = begin(kind)
    session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
    tell(target, "go", first)
    time.sleep(2)  # spile looks at actions again when 20 ms, and 50 times the time that the last look took, have passed
    tell(target, "later", first + 300)
    session.stop().expect(out=f"bad {4 * ROUNDS} 0\n", status=0)
    expect_untouched(target.pid)
    tell(target, "go", first + 600)

    session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
    tell(target, "go", first + 900)
    session.process.kill()
    session.process.wait()
    tell(target, "go", first + 1200)
    target.stdin.close()
    expect(target.wait(20 * PATIENCE), 0, "the program's status")

    # The probes are there first.
    result = spile("-e", SCRIPT, "-c", f"{program('signal_actions')} {kind} {LIBRARY} {ROUNDS}", input="go\n")
    result.expect(out=f"ready\nblocked:{KEPT}open:{KEPT}handled {first}\nbad {2 * ROUNDS} 0\n", status=0)
