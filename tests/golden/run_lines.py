#!/usr/bin/env python3
"""Many short scripts in one file, a line each: what pass 2 makes of them, or what they print.

    run_lines.py refused FILE    a script, then lines "! TEXT": spile -p2 must leave with 1, in pass 2, and say every TEXT
    run_lines.py accepted FILE   a script, then lines "> TEXT": spile -p2 must leave with 0, and print every line TEXT
    run_lines.py printed FILE    a script, then lines "> LINE": spile must leave with 0 and have printed exactly these lines;
                                 a line "! TEXT" before them: it must leave with 1, and say TEXT
    A script of "printed" may begin with options: -DMAXSTRINGLEN=20 probe begin ...

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


def read(path, marks):
    cases = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if line and line[0] in marks and line[1:2] in ("", " "):
            cases[-1][2].append(line if len(marks) > 1 else line[2:])
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


def check_printed(script, wanted):
    options = []
    while script.startswith("-"):
        option, script = script.split(" ", 1)
        options.append(option)
    done = subprocess.run([SPILE, *options, "-e", script], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, text=True)
    said = [line[2:] for line in wanted if line[0] == "!"]
    lines = "".join(line[2:] + "\n" for line in wanted if line[0] == ">")
    wrong = [] if done.returncode == (1 if said else 0) else [f"status {done.returncode}"]
    wrong += [f"'{text}' is not said" for text in said if text not in done.stderr]
    wrong += [f"printed, and not: {lines}"] if done.stdout != lines else []
    return wrong, done.stdout + done.stderr


kind, path = sys.argv[1:]
cases = read(path, {"accepted": ">", "refused": "!", "printed": ">!"}[kind])
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(lambda case: check_printed(*case[1:]) if kind == "printed" else check(kind, case[1], case[2]), cases))
failed = 0
for (number, script, _), (wrong, output) in zip(cases, results):
    if wrong:
        failed += 1
        print(f"{path}:{number}: {script}\n  " + "\n  ".join(wrong) + "\n" + output)
print(f"{len(cases) - failed} of {len(cases)} scripts {kind}")
sys.exit(1 if failed or not cases else 0)
