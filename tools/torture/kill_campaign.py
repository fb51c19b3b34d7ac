#!/usr/bin/env python3
"""Kills spile, its target, or a thread inside a handler at random moments; the survivors must be unharmed.

    tools/torture/kill_campaign.py [KILLS] [SEED]                          500 by default
    tools/torture/kill_campaign.py bad-pointers [KILLS] [SPILES] [SEED]    100 by default, of one spile

Each round starts a program with threads, attaches spile with entry and return probes of one of several scripts, and after
a random while, before, during or after arming, one of them gets SIGKILL:

    spile     the program runs on, correct to its last call; the next spile attaches, counts, and leaves nothing behind
    target    spile tells what it counted and ends by itself
    both      nothing is left
    thread    one thread of the program, in the kernel's sense the whole program, most likely inside a handler: the handlers
              of that script take most of the processor's time and hold locks

At the end nothing is left in /dev/shm or among temporary files, and no process of ours.

With bad-pointers it is always spile, or several of them at once, that dies, while each call of the program's threads makes a
handler follow a bad pointer: some thread is always at such a signal, or about to be.
"""
import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import spiletest as st

COUNTS = 'global c probe process.function("work") { c++ } probe end { printf("c %d\\n", c > 0) }'
RETURNS = ('global t probe process.function("work").return { t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } '
           'probe end { printf("c %d\\n", @count(t) > 0) }')
# Long handlers under a lock: the thread that dies is most likely in one.
LOCKED = ('global c, last, seen probe process.function("work") { c++ for (i = 0; i < 200; i++) seen[i % 50] = last '
          'last = seen[c % 50] + tid() } probe process.function("work").return { c++ } probe end { printf("c %d\\n", c > 0) }')
PRINTS = 'probe process.function("work") { printf("%d\\n", tid()) } probe end { println("c 1") }'
BAD_POINTERS = ('global bad probe process.function("work") { try { bad += user_long_error($arg) } '
                'catch { if (bad++ == 1000) println("met") } } probe end { printf("c %d\\n", bad > 0) }')
SCRIPTS = [COUNTS, RETURNS, LOCKED, PRINTS, BAD_POINTERS]


def leftovers():
    """What spile could leave outside of processes."""
    found = {str(p) for p in pathlib.Path("/dev/shm").iterdir() if "spile" in p.name}
    for directory in {"/tmp", os.environ.get("TMPDIR", "/tmp")}:
        found |= {str(p) for p in pathlib.Path(directory).iterdir() if p.name.startswith("spile") and "test" not in p.name}
    return found


def end(target):
    """Ends the program; all of its calls must have returned what they should."""
    st.expect_match(r"^calls \d+ wrong 0$", st.finish(target), "the program's own account")
    st.expect(target.returncode, 0, "the program's status")


def survives(target, script):
    """After spile's death: still correct, and the next spile puts everything right."""
    time.sleep(0.02)
    st.expect(target.poll(), None, "the program's status")
    again = st.Session("-e", 'global c probe process.function("work") { if (c++ == 0) println("hit") }', "-x", target.pid)
    again.wait_output("^hit$")
    again.stop().expect(out="hit\n", status=0)
    st.expect_untouched(target.pid)
    end(target)


def round_of(chance, kind):
    script = chance.choice(SCRIPTS) if kind != "thread" else LOCKED
    target = st.server(seconds=120, threads=3)
    session = st.Session("-e", script, "-x", target.pid)
    if script is BAD_POINTERS:
        session.wait_output("^met$")  # the very first one is the tracer's alone
    elif chance.random() < 0.6:
        session.attached(target.pid)
    time.sleep(chance.random() ** 2 * 0.3)
    if kind in ("spile", "both"):
        session.process.kill()
        session.process.wait()
    if kind == "spile":
        return survives(target, script)
    if kind == "thread":
        threads = [int(t) for t in os.listdir(f"/proc/{target.pid}/task") if int(t) != target.pid]
        os.kill(chance.choice(threads or [target.pid]), signal.SIGKILL)
    elif target.poll() is None:
        target.kill()
    target.wait()
    result = session.wait(30)
    if kind != "both":
        # It ended by itself and said what it had counted; or the program was gone before there was anything to count.
        st.expect_true(result.status in (0, 1), f"spile's end after its target's death\n{result}")
        st.expect_true(result.status == 1 or "c " in result.out, f"what spile tells of a killed target\n{result}")


def campaign(kills, seed=None):
    seed = st.chosen_seed(seed)
    chance = random.Random(seed)
    before = leftovers()
    kinds = ["spile", "target", "thread", "spile", "both"]
    done = dict.fromkeys(kinds, 0)
    for number in range(kills):
        kind = kinds[number % len(kinds)]
        try:
            round_of(chance, kind)
        except SystemExit:
            print(f"round {number} of seed {seed}: {kind}")
            raise
        done[kind] += 1
        if number % 50 == 49:
            print(f"{number + 1} kills", flush=True)
    st.expect(sorted(leftovers() - before), [], "files left behind")
    print(f"{kills} kills, every survivor unharmed:", " ".join(f"{kind} {n}" for kind, n in done.items()))


def bad_pointers(kills, spiles=1, seed=None):
    """One program as long as it lives, else the next; says how many were harmed."""
    seed = st.chosen_seed(seed)
    chance = random.Random(seed)
    harmed = 0
    target = st.server(seconds=3600, threads=3)
    for number in range(kills):
        sessions = [st.Session("-e", BAD_POINTERS, "-x", target.pid) for _ in range(spiles)]
        for session in sessions:
            session.wait_output("^met$")
        time.sleep(chance.random() ** 2 * 0.05)
        chance.shuffle(sessions)
        for session in sessions:
            session.process.kill()
            time.sleep(chance.random() * 0.01)
        for session in sessions:
            session.process.wait()
        time.sleep(0.02)
        if target.poll() is not None:
            harmed += 1
            print(f"kill {number} of seed {seed}: the program's status is {target.returncode}", flush=True)
            target = st.server(seconds=3600, threads=3)
    survives(target, COUNTS)
    print(f"{kills} kills, {harmed} harmed")
    return harmed


if __name__ == "__main__":
    if sys.argv[1:2] == ["bad-pointers"]:
        sys.exit(bad_pointers(*([int(word) for word in sys.argv[2:]] or [100])) != 0)
    campaign(*([int(word) for word in sys.argv[1:]] or [500]))
