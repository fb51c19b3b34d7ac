#!/usr/bin/env python3
"""Kills processes within handlers that hold the lock of a global which others share: those lose nothing and never hang.

    tools/torture/shared_lock.py [KILLS] [SEED]     100 by default

One script counts the calls of all processes of a command in globals under a lock, in handlers that take most of the
processor's time. One process lives to the end, others get SIGKILL at random moments. Of the survivor every call is
counted; none is skipped but those that spile tells of, having waited for a dead one's lock too long.
"""
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import spiletest as st

SCRIPT = """global last, seen[50], total
probe process("%s").function("work") {
  for (i = 0; i < 30; i++) seen[i] = last
  last = seen[0] + 1
  total[pid()] = total[pid()] + 1
}
probe end { foreach (p in total) printf("calls of %%d %%d\\n", p, total[p]) printf("all %%d\\n", last) }"""


def campaign(kills, seed=None):
    seed = st.chosen_seed(seed)
    chance = random.Random(seed)
    waits = " ".join(f"{chance.uniform(0.01, 0.08):.3f}" for _ in range(kills))
    server = st.program("server")
    shell = (f"sh -c '{server} 600 1 & survivor=$!; for wait in {waits}; do {server} 600 2 >/dev/null & sleep $wait; "
             f"kill -9 $!; wait $!; done; kill $survivor; wait $survivor; echo survivor $survivor $?' 2>/dev/null")
    result = st.spile("-DMAXSKIPPED=0", "-e", SCRIPT % server, "-c", shell, timeout=600)
    st.expect_match(r"^survivor \d+ 0$", result.out, f"the survivor's end\n{result}")
    survivor = re.search(r"^survivor (\d+)", result.out, re.M)[1]
    made, counts = (int(re.search(p, result.out, re.M)[1]) for p in (r"^calls (\d+) wrong 0$", rf"^calls of {survivor} (\d+)$"))
    skipped = int((re.search(r"(\d+) .*lock", result.err) or [0, 0])[1])
    st.expect_true(made - skipped <= counts <= made, f"{counts} of {made} calls counted, {skipped} skipped\n{result}")
    print(f"{kills} kills; the survivor's {made} calls: {counts} counted, {made - counts} skipped and told of", flush=True)
    return made, counts


if __name__ == "__main__":
    campaign(*([int(word) for word in sys.argv[1:]] or [100]))
