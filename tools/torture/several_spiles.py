#!/usr/bin/env python3
"""Several spiles on one program with threads, which come, leave and are killed at random moments, in any order.

    tools/torture/several_spiles.py [ROUNDS] [SEED]     50 by default

Each thread numbers its calls of the probed function. Whoever probes it must see consecutive numbers, from the first hit to the
last, of entries and of returns, whatever others do meanwhile; only where the spile that traces ends may there be a gap, which is
told. At the end of a round the program is as it was, and all its calls have returned what they should.
"""
import os
import pathlib
import random
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import spiletest as st

SEEN = """global n, last, gaps
probe process.function("work") {{ t = tid() if (t in n && $arg != last[t] + 1) gaps++ n[t]++ last[t] = $arg
{exit} }} {more} probe end {{ printf("gaps %d\\n", gaps) }}"""
RETURNS = ('global r, rlast probe process.function("work").return { t = tid() a = @entry($arg) if (t in r && '
           'a != rlast[t] + 1) gaps++ r[t]++ rlast[t] = a } ')
OTHERS = ('global others probe process("libc.so.6").function("*sleep*"), process("libc.so.6").function("*sleep*").return '
          '{ others++ } ')
EVERYWHERE = 'global here probe process.function("*"), process.function("*").return { here++ } '
SCRIPTS = [SEEN.format(exit="", more=""), SEEN.format(exit="", more=RETURNS), SEEN.format(exit="", more=RETURNS + OTHERS),
           SEEN.format(exit="", more=EVERYWHERE)]


class Spile:
    def __init__(self, chance, pid):
        self.session = st.Session("-v", "-e", chance.choice(SCRIPTS), "-x", pid)
        self.armed = False

    def read_err(self):
        return self.session.read(self.session.err)

    def has_begun(self):
        return re.search(r"^Armed \d+ of", self.read_err(), re.M) is not None

    def leave(self):
        """By Ctrl-C; all that it has seen without a gap, but for one that it reports."""
        begun = self.has_begun()
        result = self.session.stop(timeout=60)
        if not begun and result.status != 0:
            return  # interrupted while it compiled
        missed = "hits may have been missed" in result.err or "skipped" in result.err
        if not missed:
            result.expect(out_match="^gaps 0$")
        st.expect(result.status, 0, f"the status\n{result}")

    def kill(self):
        self.session.process.kill()
        self.session.process.wait()


def round_of(chance):
    target = st.server(seconds=300, threads=3)
    here = []
    for _ in range(12):
        action = chance.random()
        if len(here) < 2 or (len(here) < 4 and action < 0.4):
            here.append(Spile(chance, target.pid))
            if chance.random() < 0.8:
                here[-1].session.attached(target.pid, 60)
            else:
                time.sleep(chance.random() * 0.2)
        else:
            # The one that traces as often as all others.
            one = here.pop(0 if chance.random() < 0.3 else chance.randrange(len(here)))
            one.leave() if action < 0.7 else one.kill()
        st.expect(target.poll(), None, "the program's status")
        time.sleep(chance.random() ** 2 * 0.2)
    chance.shuffle(here)
    at_once = chance.random() < 0.5
    kills = {one for one in here if chance.random() < 0.3}
    for one in here if at_once else []:
        one.session.process.send_signal(signal.SIGKILL if one in kills else signal.SIGINT)
    for one in here:
        one.kill() if one in kills else one.leave()
    # Also what those that were killed have left.
    again = st.Session("-e", 'global c probe process.function("work") { if (c++ == 0) println("hit") }', "-x", target.pid)
    again.wait_output("^hit$")
    again.stop().expect(out="hit\n", status=0)
    st.expect_untouched(target.pid)
    st.expect_match(r"^calls \d+ wrong 0$", st.finish(target), "the program's own account")
    st.expect(target.returncode, 0, "the program's status")


def campaign(rounds, seed=None):
    seed = st.chosen_seed(seed)
    for number in range(rounds):
        try:
            round_of(random.Random(seed + number))
        except SystemExit:
            print(f"round of seed {seed + number}")
            raise
    print(f"{rounds} rounds, nobody harmed")


if __name__ == "__main__":
    campaign(*([int(word) for word in sys.argv[1:]] or [50]))
