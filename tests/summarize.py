#!/usr/bin/env python3
"""Adds up what ./dev test ran, lists what failed and what was skipped, and ends with one plain line.

RESULTS/*.xml are ctest's reports. A test named unit.NAME is one GoogleTest program: its own report, in
RESULTS/unit*/, counts its cases one by one; a program that left none (it crashed) counts as one failure.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

results = pathlib.Path(sys.argv[1])
passed, failed, skipped = [], [], []


def skip_reason(output):
    found = re.findall(r"^(?:skip|SKIP|Skipped)[^:\n]*: *(.*)$", output or "", re.M)
    return found[-1] if found else "no reason given"


def add_unit_program(report, variant):
    for case in ET.parse(report).iter("testcase"):
        name = f"{variant}{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None:
            failed.append(name)
        elif skip is not None:
            skipped.append((name, (skip.get("message") or "no reason given").splitlines()[-1]))
        else:
            passed.append(name)


for report in sorted(results.glob("*.xml")):
    variant = "" if report.stem == "release" else report.stem + "."
    for case in ET.parse(report).iter("testcase"):
        name = case.get("name")
        if name.startswith("unit."):
            own = results / ("unit" + ("-" + report.stem if variant else "")) / (name[5:] + "_test.xml")
            if own.exists():
                before = len(failed)
                add_unit_program(own, variant)
                if case.find("failure") is not None and len(failed) == before:
                    failed.append(variant + name)
                continue
        status = case.get("status")
        output = case.findtext("system-out")
        if case.find("failure") is not None or status == "fail":
            failed.append(variant + name)
        elif case.find("skipped") is not None or status in ("notrun", "disabled"):
            skipped.append((variant + name, skip_reason(output)))
        else:
            passed.append(variant + name)

for name, reason in skipped:
    print(f"skipped {name}: {reason}")
for name in failed:
    print(f"failed {name}")
print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
sys.exit(1 if failed or not passed else 0)
