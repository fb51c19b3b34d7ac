# After spile has died by SIGKILL the probed function costs no more than it did before: nothing waits for spile.
from spiletest import *
import json

folder = temporary_directory()
SCRIPT = 'global t probe process.function("probed").return { t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } probe end { println(@count(t)) }'


def added(chunks):
    """What the probe adds to a call, in ns: without what other processes take away, which most chunks of 2 ms have to bear on a
    busy machine."""
    plain, probed = (sorted(costs)[len(costs) // 10] for costs in zip(*chunks))
    return probed - plain


alive = folder / "alive.json"
spile("-e", SCRIPT, "-c", f"{BUILD / 'bench/target'} {alive} 1").expect(status=0)
for seconds in (3, 6, 12, 24):  # a busy machine takes longer to attach
    out, begin = folder / "killed.json", time.monotonic()
    target = start(BUILD / "bench/target", out, seconds)
    session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
    session.process.kill()
    session.process.wait()
    took = time.monotonic() - begin
    expect(target.wait(60 * PATIENCE), 0, "the program's status")
    if took < seconds / 2:
        break
expect_true(took < seconds / 2, f"spile took {took} s to attach")
chunks = json.loads(out.read_text())["chunks"]
before, after = added(json.loads(alive.read_text())["chunks"]), added(chunks[-len(chunks) // 3:])
print(f"{before:.1f} ns were added to a call, {after:.1f} ns after spile's death")
expect_true(after < 100 and after < 1.5 * before + 20,
            f"{before:.1f} ns were added to a call, {after:.1f} ns after spile's death")
