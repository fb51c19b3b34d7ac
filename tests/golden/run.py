#!/usr/bin/env python3
"""Golden tests: one script and its .expect per case, for what spile itself defines: trees, types, diagnostics.

    run.py [CASE...]       compares all cases, or those given, showing the differences
    run.py --update        rewrites every .expect (or those of the cases given) from what spile says now; read the diff

All cases are one test of ctest. With GTEST_OUTPUT=xml:FOLDER/ (./dev test) the outcome of each is in FOLDER/golden.cases.xml,
which tests/summarize.py counts one by one.

A case's first line says how spile is run: `// spile: -p1 %s`, where %s is the case's file; it runs in this directory.
The .expect file is spile's stdout, then, where there is any, its stderr and a status other than 0 under headings.

NAME.cases holds many small cases: its first line is as above with %s for the script's text (`# spile: -p1 -e %s`), each case
begins with a line `=== what it shows`, perhaps with ` :: MORE ARGUMENTS`, and is the lines to the next one.
"""
import concurrent.futures
import difflib
import os
import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET

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
        raise ValueError(f"{case}: the first line is not `{prefix}ARGUMENTS`")
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


def name_of(case):
    return str(case.relative_to(HERE).with_suffix("")).replace("/", ".")


def difference(case, update):
    """What spile says other than case's .expect has, as a diff; empty: nothing. Or rewrites the file."""
    expect = case.with_suffix(".expect")
    try:
        actual = run(case)
    except (subprocess.TimeoutExpired, ValueError) as error:
        return f"{error}\n"
    if update:
        expect.write_text(actual)
        return ""
    if not expect.exists():
        return f"{expect} is missing (run.py --update writes it)\n"
    wanted = expect.read_text()
    return "".join(difflib.unified_diff(wanted.splitlines(True), actual.splitlines(True), str(expect), "spile says"))


def write_report(outcomes):
    kind, _, folder = os.environ.get("GTEST_OUTPUT", "").partition(":")
    if kind != "xml" or not folder:
        return
    suite = ET.Element("testsuite", name="golden")
    for case, text in outcomes:
        entry = ET.SubElement(suite, "testcase", classname="golden", name=name_of(case))
        if text:
            ET.SubElement(entry, "failure", message=text)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(pathlib.Path(folder) / "golden.cases.xml")


update = "--update" in sys.argv
# src/syntax/cases_test.cpp compares those of refused_by_parser in one process: there are hundreds.
cases = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--update"] or sorted(
    case for case in [*HERE.rglob("*.stp"), *HERE.rglob("*.cases")] if update or case.parent.name != "refused_by_parser")
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    outcomes = list(zip(cases, pool.map(lambda case: difference(case, update), cases)))
for case, text in outcomes:
    if text:
        print(f"failed golden.{name_of(case)}\n{text}", end="")
write_report(outcomes)
different = sum(bool(text) for _, text in outcomes)
print(f"{len(outcomes) - different} of {len(outcomes)} cases are as expected")
sys.exit(1 if different or not outcomes else 0)
