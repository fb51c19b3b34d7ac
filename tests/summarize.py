#!/usr/bin/env python3
"""Adds up what ./dev test ran, lists what failed and what was skipped, and ends with one plain line.

RESULTS/PRESET.xml are ctest's reports, RESULTS/PRESET.again.xml those of tests that failed and ran once more (cases of
virtual machines do so within their test). A test with a report of its own counts case by case: unit.NAME, which is one
GoogleTest program, in PRESET.unit/NAME_test.xml, and golden.cases in PRESET.unit/golden.cases.xml (PRESET.again.unit/ of
the second run); a program that left none (it crashed) counts as one failure.

A test that passed at its second run is counted as passed, and named: it is a fault all the same, of spile or of the test.
What the first run printed is kept in RESULTS/TEST.first.log.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

SECOND_RUN = "passed at its second run, after a failure"
results = pathlib.Path(sys.argv[1])
passed, failed, skipped, second = 0, [], [], []


def skip_reason(output):
    found = re.findall(r"^(?:skip|SKIP|Skipped)[^:\n]*: *(.*)$", output or "", re.M)
    return found[-1] if found else "no reason given"


def unit_program(report):
    """The outcomes of the cases of a GoogleTest program: {name: (status, reason)}"""
    outcomes = {}
    for case in ET.parse(report).iter("testcase"):
        skip = case.find("skipped")
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            outcomes[name] = ("failed", "")
        elif skip is not None:
            outcomes[name] = ("skipped", (skip.get("message") or "no reason given").splitlines()[-1])
        else:
            outcomes[name] = ("passed", "")
    return outcomes


def own_report(folder, name):
    reports = [folder / f"{name}.xml"] + ([folder / f"{name[5:]}_test.xml"] if name.startswith("unit.") else [])
    return next((report for report in reports if report.exists()), None)


def run_of(report):
    """What one run of ctest came to: {test: {case: (status, reason)}}"""
    tests = {}
    for case in ET.parse(report).iter("testcase"):
        name = case.get("name")
        status = case.get("status")
        failed = case.find("failure") is not None or status == "fail"
        own = own_report(report.with_suffix(".unit"), name)
        if own:
            tests[name] = unit_program(own)
            if failed and all(outcome != "failed" for outcome, _ in tests[name].values()):
                tests[name][name] = ("failed", "")
        elif failed:
            tests[name] = {name: ("failed", "")}
        elif case.find("skipped") is not None or status in ("notrun", "disabled"):
            tests[name] = {name: ("skipped", skip_reason(case.findtext("system-out")))}
        else:
            tests[name] = {name: ("passed", "")}
            if (case.findtext("system-out") or "").startswith(SECOND_RUN):
                second.append(name)
    return tests


def keep_log(report, test, name):
    """Writes what a failed test printed to RESULTS/NAME.first.log, and returns that path."""
    log = results / f"{name}.first.log"
    printed = [case.findtext("system-out") or "" for case in ET.parse(report).iter("testcase") if case.get("name") == test]
    log.write_text("".join(printed))
    return log


for report in sorted(results.glob("*.xml")):
    if report.stem.endswith(".again"):
        continue
    variant = "" if report.stem == "release" else report.stem + "."
    again = report.with_suffix(".again.xml")
    retried = run_of(again) if again.exists() else {}
    for test, cases in run_of(report).items():
        if test in retried:
            log = keep_log(report, test, variant + test)
            if all(status != "failed" for status, _ in retried[test].values()):
                second += [f"{variant}{case} ({log})" for case, (status, _) in cases.items() if status == "failed"]
            cases = retried[test]
        for case, (status, reason) in cases.items():
            if status == "passed":
                passed += 1
            elif status == "skipped":
                skipped.append((variant + case, reason))
            else:
                failed.append(variant + case)

for name, reason in skipped:
    print(f"skipped {name}: {reason}")
for name in second:
    print(f"{SECOND_RUN}: {name}")
for name in failed:
    print(f"failed {name}")
print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
sys.exit(1 if failed or not passed else 0)
