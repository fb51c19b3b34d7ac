#!/usr/bin/env python3
"""Probes that go on and off all the time, in a program of eight threads with SIGPROF at 1 kHz, forks and dlopens.

    tools/torture/toggle_stress.py [SECONDS]     130 by default; it says how many switches that were

As often as spile gets to it a script's condition turns over, which arms or disarms eight functions; beside them one is always
armed, whose count must be the program's own to the last call. The program checks each result of each function.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import spiletest as st

SCRIPT = """global on, turns, toggled, steady
probe timer.us(500) { on = !on turns++ }
probe process.function("step*") if (on) { toggled++ }
probe process.function("steady") { if (pid() == target()) steady++ }
probe end { printf("turns %d toggled %d steady %d\\n", turns, toggled, steady) }"""


def stress(seconds):
    program, library = st.program("toggled"), st.BUILD / "programs/libplugin.so"
    result = st.spile("-D", "MAXSKIPPED=0", "-e", SCRIPT, "-c", f"{program} {library} {seconds}", timeout=seconds + 120)
    calls, wrong = map(int, re.search(r"calls (\d+) wrong (\d+)", result.out).groups())
    st.expect_match("^turns ", result.out, f"spile's counts ({result})")
    turns, toggled, steady = map(int, re.search(r"turns (\d+) toggled (\d+) steady (\d+)", result.out).groups())
    st.expect((result.status, wrong), (0, 0), f"status and wrong results\n{result}")
    # SIGPROF's handler hits probes while a handler runs: those are skipped, counted and reported.
    skipped = sum(map(int, re.findall(r"skipped probes: (\d+)", result.err)))
    print(f"{8 * turns} switches, {calls} calls, {steady} counted, {skipped} skipped, {toggled} hits while switched on")
    st.expect_true(calls - skipped <= steady <= calls, f"the function that is always armed\n{result}")
    st.expect_true(0 < toggled < 8 * calls, f"those that are switched\n{result}")
    return 8 * turns, calls


if __name__ == "__main__":
    stress(int(sys.argv[1]) if len(sys.argv) > 1 else 130)
