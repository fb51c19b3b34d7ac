#!/usr/bin/env python3
"""Golden tests: one script and its .expect per case, for what spile itself defines: trees, types, diagnostics.

    run.py CASE...         compares, showing the difference
    run.py --update        rewrites every .expect (or those of the cases given) from what spile says now; read the diff

A case's first line says how spile is run: `// spile: -p1 %s`, where %s is the case's file; it runs in this directory.
The .expect file is spile's stdout, then, where there is any, its stderr and a status other than 0 under headings.

NAME.cases holds many small cases: its first line is as above with %s for the script's text (`# spile: -p1 -e %s`), each case
begins with a line `=== what it shows`, perhaps with ` :: MORE ARGUMENTS`, and is the lines to the next one.
"""
import difflib
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SPILE_BUILD", HERE.parents[1] / "build/release"))
SPILE = os.environ.get("SPILE", BUILD / "bin/spile")


def output_of(arguments):
    done = subprocess.run([SPILE, *arguments], cwd=HERE, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    text = done.stdout.decode(errors="replace")
    if done.stderr:
        text += "== stderr\n" + done.stderr.decode(errors="replace")
    if done.returncode:
        text += f"== status {done.returncode}\n"
    return text.replace(str(HERE.parents[1]) + "/", "")  # the library's files are named by their full path


def arguments_of(case, first, mark):
    prefix = mark + " spile: "
    if not first.startswith(prefix):
        sys.exit(f"{case}: the first line is not `{prefix}ARGUMENTS`")
    return shlex.split(first[len(prefix):])


def run(case):
    lines = case.read_text().splitlines()
    if case.suffix == ".stp":
        name = str(case.relative_to(HERE))
        return output_of([part.replace("%s", name) for part in arguments_of(case, lines[0], "//")])
    arguments = arguments_of(case, lines[0], "#")
    text, starts = "", [i for i, line in enumerate(lines) if line.startswith("=== ")]
    for begin, end in zip(starts, starts[1:] + [len(lines)]):
        more = shlex.split(lines[begin].partition(" :: ")[2])
        script = "\n".join(lines[begin + 1:end])
        text += lines[begin] + "\n" + output_of([part.replace("%s", script) for part in arguments] + more)
    return text


update = "--update" in sys.argv
cases = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--update"] or sorted(
    [*HERE.rglob("*.stp"), *HERE.rglob("*.cases")])
different = 0
for case in cases:
    expect = case.with_suffix(".expect")
    actual = run(case)
    if update:
        expect.write_text(actual)
        continue
    if not expect.exists():
        print(f"{expect} is missing (run.py --update writes it)")
    wanted = expect.read_text() if expect.exists() else None
    if wanted is None or actual != wanted:
        different += 1
        sys.stdout.writelines(difflib.unified_diff((wanted or "").splitlines(True), actual.splitlines(True), str(expect),
                                                   "spile says"))
sys.exit(1 if different else 0)
