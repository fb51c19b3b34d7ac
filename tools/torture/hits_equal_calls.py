#!/usr/bin/env python3
"""Are hits equal to calls? Counts the calls of every function of a program twice: by valgrind's callgrind, which simulates
each instruction, and by spile with all functions probed; the counts must be the same for every single one.

    tools/torture/hits_equal_calls.py [ROWS]              sqlite3 (built by `./dev test`) over queries.py
    tools/torture/hits_equal_calls.py -- PROGRAM ARG...   any program with debug information that does the same each time

What is compared is how often a function's first instruction ran, by address: callgrind's names of functions differ from
those of debug information (foo.part.0), addresses don't. Functions without debug information are not probed by a wildcard
and are listed as such.
"""
import collections
import pathlib
import re
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"), str(pathlib.Path(__file__).parent)]
import spiletest as st
from queries import queries

# Of the C compiler's start files, which have no debug information.
START_FILES = {"_start", "_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy"}

SCRIPT = """global n
probe process("%s").function("*").call { n[uaddr()]++ }
probe end { foreach (a in n) printf("hits %%x %%d\\n", a, n[a]) }"""


def functions(program):
    """Names of functions by file address."""
    table = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in table.splitlines()]
    return {int(row[1], 16): row[7] for row in rows if len(row) >= 8 and row[3] == "FUNC" and row[6] != "UND"}


def callgrind(program, arguments, directory):
    """How often each instruction of the program ran, by file address; and what it wrote."""
    out = directory / "callgrind.out"
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=yes", "--skip-plt=no",
                           "--compress-strings=no", "--compress-pos=no", program, *arguments],
                          capture_output=True, timeout=3000, stdin=subprocess.DEVNULL)
    executed = collections.Counter()
    ours = of_a_call = False
    for line in out.read_text().splitlines():
        if line.startswith("ob="):
            ours = line[3:] == str(program)
        elif line.startswith("calls="):
            of_a_call = True  # the next line is what the callee cost
        elif line.startswith("0x"):
            if ours and not of_a_call:
                address, _, count = line.split()
                executed[int(address, 16)] += int(count)
            of_a_call = False
    return executed, done.stdout.decode()


def spile(program, arguments, names):
    """How often each function was hit, by file address; and what the program wrote."""
    command = " ".join([str(program), *("'" + a + "'" for a in arguments)])
    result = st.spile("-D", f"MAXMAPENTRIES={2 * len(names) + 100}", "-e", SCRIPT % program, "-c", command, timeout=3000)
    st.expect_true("skipped" not in result.err and "missed" not in result.err, f"nothing may be skipped\n{result}")
    hits = {int(a, 16): int(n) for a, n in re.findall(r"^hits ([0-9a-f]+) (\d+)$", result.out, re.M)}
    output = re.sub(r"^hits [0-9a-f]+ \d+\n", "", result.out, flags=re.M)
    # Run-time addresses: the distance is the one at which all of them are functions.
    pages = {a - f for a in list(hits)[:1] for f in names if (a - f) % 4096 == 0}
    fitting = [bias for bias in pages if all(a - bias in names for a in hits)]
    st.expect(len(fitting), 1, "distances at which all hits are functions")
    return {a - fitting[0]: n for a, n in hits.items()}, output


def compare(program, arguments):
    program = pathlib.Path(program).resolve()
    names = functions(program)
    executed, plain = callgrind(program, arguments, st.temporary_directory())
    hits, probed = spile(program, arguments, names)
    st.expect(probed, plain, "the program's output")
    calls = {address: executed[address] for address in names if executed[address]}
    unprobed = sorted(names[a] for a in calls if a not in hits and names[a] in START_FILES)
    differences = [f"{names[a]}: {calls.get(a, 0)} calls, {hits.get(a, 0)} hits" for a in sorted(set(calls) | set(hits))
                   if calls.get(a, 0) != hits.get(a, 0) and names[a] not in unprobed]
    print(f"{len(hits)} functions, {sum(calls.values())} calls, {sum(hits.values())} hits; "
          f"without debug information: {' '.join(unprobed) or 'none'}")
    if differences:
        st.fail("\n".join([f"{len(differences)} functions differ:", *differences]))
    return len(hits), sum(hits.values())


def compare_sqlite(rows):
    script = st.temporary_directory() / "queries.sql"
    script.write_text(queries(rows))
    return compare(st.debian_source_program("sqlite3"), [":memory:", f".read {script}"])


if __name__ == "__main__":
    if "--" in sys.argv:
        words = sys.argv[sys.argv.index("--") + 1:]
        compare(words[0], words[1:])
    else:
        compare_sqlite(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
