# timing
# After spile has died by SIGKILL the probed function costs no more than it did before: nothing waits for spile.
from spiletest import *
import json
import statistics

out = temporary_directory() / "chunks.json"
target = start(BUILD / "bench/target", out, 4)
session = Session("-e", 'global t probe process.function("probed").return { t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } '
                        'probe end { println(@count(t)) }', "-x", target.pid).attached(target.pid)
time.sleep(1)  # a quarter of the program's time, whose calls are compared with those after spile's death
session.process.kill()
session.process.wait()
expect(target.wait(20), 0, "the program's status")
chunks = json.loads(out.read_text())["chunks"]
costs = [probed - plain for plain, probed in chunks]
middle = statistics.median(costs[len(costs) // 4:len(costs) // 2])
last = statistics.median(costs[-len(costs) // 5:])
expect_true(last < 100 and last < 1.5 * middle + 20, f"{middle:.1f} ns were added to a call, {last:.1f} ns after spile's death")
