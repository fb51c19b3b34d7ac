#!/usr/bin/env python3
"""Many short scripts in one file, a line each: what pass 2 makes of them.

    run_lines.py refused FILE    a script, then lines "! TEXT": spile -p2 must leave with 1, in pass 2, and say every TEXT
    run_lines.py accepted FILE   a script, then lines "> TEXT": spile -p2 must leave with 0, and print every line TEXT

Blank lines and lines that begin with "#" are comments.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SPILE_BUILD", HERE.parents[1] / "build/release"))
SPILE = os.environ.get("SPILE", BUILD / "bin/spile")


def read(path, mark):
    cases = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if line.startswith(mark + " "):
            cases[-1][2].append(line[2:])
        elif line.strip() and not line.startswith("#"):
            cases.append((number, line, []))
    return cases


def check(kind, script, wanted):
    done = subprocess.run([SPILE, "-p2", "-e", script], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, text=True)
    if kind == "accepted":
        wrong = [] if done.returncode == 0 else [f"status {done.returncode}"]
        wrong += [f"no line '{text}'" for text in wanted if text not in done.stdout.splitlines()]
    else:
        wrong = [] if done.returncode == 1 and "Pass 2:" in done.stderr else [f"status {done.returncode}, not refused by pass 2"]
        wrong += [f"'{text}' is not said" for text in wanted if text not in done.stderr]
    return wrong, done.stdout + done.stderr


kind, path = sys.argv[1:]
cases = read(path, ">" if kind == "accepted" else "!")
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(lambda case: check(kind, case[1], case[2]), cases))
failed = 0
for (number, script, _), (wrong, output) in zip(cases, results):
    if wrong:
        failed += 1
        print(f"{path}:{number}: {script}\n  " + "\n  ".join(wrong) + "\n" + output)
print(f"{len(cases) - failed} of {len(cases)} scripts {kind}")
sys.exit(1 if failed else 0)
