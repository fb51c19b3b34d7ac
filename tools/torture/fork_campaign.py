#!/usr/bin/env python3
"""Attaches to, and detaches from, a program whose threads fork all the time: no child may die, and none be half probed.

    tools/torture/fork_campaign.py [TIMES] [PROBES]     200 times by default; PROBES: entries, returns or libc

Each child calls a probed function ten times. A child's calls are seen all or not at all; once one child of a thread was
seen, all later ones are, until spile is told to stop. All that began after spile had said that it is attached are seen.
After each detachment the text is as it was, also of children.
"""
import pathlib
import re
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import spiletest as st

RECORD = struct.Struct("<iiiiqq")
CALLS = 10
SEEN = 'global n, said probe process.function("foo") { n[pid()]++ } '
TELL = ('probe timer.ms(1) { if (!said++) println("attached") } '
        'probe end { foreach (p in n) printf("child %d %d\\n", p, n[p]) }')
PROBES = {
    "entries": SEEN + TELL,
    "returns": SEEN + 'global r probe process.function("foo*").return { r++ } ' + TELL,
    # Arming takes a while, and the functions that fork and wait are among them.
    "libc": SEEN + 'global r probe process("libc.so.6").function("*").return { r++ } ' + TELL,
}


def read(log, since):
    data = log.read_bytes()[since * RECORD.size:]
    return list(RECORD.iter_unpack(data[:len(data) // RECORD.size * RECORD.size]))


def round_of(target, log, script, number):
    before = len(read(log, 0))
    session = st.Session("-DMAXMAPENTRIES=20000", "-e", script, "-x", target.pid)
    session.wait_output("^attached$", 60)
    attached = time.monotonic_ns()
    time.sleep(0.02 + number % 5 * 0.01)
    # On a busy machine few children are born meanwhile.
    st.wait_until(lambda: sum(start > attached for *_, start, _ in read(log, before)) >= 2, 60, "children to be born and to end")
    stopping = time.monotonic_ns()
    result = session.stop()
    st.expect_true(result.status == 0, f"spile's end\n{result}")
    time.sleep(0.01)
    hits = {int(pid): int(calls) for pid, calls in re.findall(r"^child (\d+) (\d+)$", result.out, re.M)}
    seen, late = set(), 0
    for thread, pid, status, _, start, end in read(log, before):
        st.expect(status, 0, f"the status of child {pid}\n{result}")
        if end > stopping:
            continue
        calls = hits.get(pid, 0)
        where = (f"calls of child {pid} of thread {thread}, born {(start - attached) / 1e6:.2f} ms after spile was attached\n"
                 f"{result.err}")
        if calls:
            seen.add(thread)
        if thread in seen or start > attached:
            st.expect(calls, CALLS, where)
            late += start > attached
    st.expect_untouched(target.pid)
    return late


def campaign(times, probes, threads=4):
    log = st.temporary_directory() / "log"
    target = st.start(st.program("forkers"), 600, threads, log, ready="ready")
    checked = sum(round_of(target, log, PROBES[probes], number) for number in range(times))
    st.expect_match(r"^children \d+ wrong 0$", st.finish(target), "the program's own account")
    st.expect_true(checked > times, f"only {checked} children were born while spile was attached")
    print(f"{times} times attached ({probes}); {checked} children of {len(read(log, 0))} born meanwhile, each seen {CALLS} times")


if __name__ == "__main__":
    words = sys.argv[1:]
    for name in words[1:] or PROBES:
        campaign(int(words[0]) if words else 200, name)
