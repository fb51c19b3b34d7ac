#!/usr/bin/env python3
"""tree.py [--update]: what no compiler checks in the files that git knows. Status 1, with a line for each fault; 77 without git.

- There are no build products: objects, libraries, compiled Python, programs, core files.
- No line of code is longer than 130 columns, and no file of src/ or tapset/ than 1,000 lines.
- No folder of src/ has more than 45 sources of its own (tests beside them don't count).

known.txt lists what broke these rules when they were written, with its extent: it may only shrink. A path that keeps the rule by
now has to leave the list, and none may exceed what it says. --update takes out what is obsolete and lowers the rest; it adds
nothing.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = ROOT / "tests/lint/known.txt"
COLUMNS, LINES, SOURCES = 130, 1000, 45
CODE = re.compile(r"\.(cpp|hpp|h|c|cc|py|sh|cmake|stp|stpm)$|(^|/)CMakeLists\.txt$|^dev$")
PRODUCT = re.compile(r"\.(pyc|o|so(\.[\d.]+)?|a|ko|gch|pch|hi|cmi|cmx|deb|spile|spile-run)$|(^|/)core(\.\d+)?$|(^|/)__pycache__/")
# Lines of these may be as long as they come.
GENERATED = {
    r"^tapset/syscalls?_\w+\.stp$": "tools/syscalls/make_tapset writes them: a table in the form of a script",
    r"^tests/golden/.*\.stp$": "what is tried may be the length of a line",
}


def tracked():
    """The paths of git's files, from the root."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode:
        print(f"skip: {listed.stderr.strip().splitlines()[-1]}")
        sys.exit(77)
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


def is_script(path, content):
    return "." not in os.path.basename(path) and content.startswith(b"#!")


def measured(paths):
    """What exceeds a limit, {(rule, path): extent}, and the build products."""
    found, products, folders = {}, [], collections.Counter()
    for path in paths:
        content = (ROOT / path).read_bytes()
        if PRODUCT.search(path) or content.startswith((b"\x7fELF", b"!<arch>\n", b"BC\xc0\xde")):
            products.append(path)
            continue
        if not CODE.search(path) and not is_script(path, content):
            continue
        lines = content.decode(errors="replace").split("\n")
        long = sum(len(line) > COLUMNS for line in lines)
        if long and not any(re.search(pattern, path) for pattern in GENERATED):
            found["columns", path] = long
        if path.startswith(("src/", "tapset/")) and len(lines) - 1 > LINES:
            found["lines", path] = len(lines) - 1
        if path.startswith("src/") and not path.endswith(("_test.cpp", ".txt")):
            folders[os.path.dirname(path)] += 1
    found.update((("sources", folder), count) for folder, count in folders.items() if count > SOURCES)
    return found, products


def read_known():
    entries = [line.split() for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")]
    return {(rule, path): int(extent) for rule, extent, path in entries}


def update(found, known):
    head = [line for line in KNOWN.read_text().splitlines() if line.startswith("#")]
    kept = sorted((rule, path, min(extent, found[rule, path])) for (rule, path), extent in known.items() if (rule, path) in found)
    KNOWN.write_text("\n".join([*head, *(f"{rule} {extent} {path}" for rule, path, extent in kept)]) + "\n")


def main():
    paths = tracked()
    found, products = measured(paths)
    known = read_known()
    if sys.argv[1:] == ["--update"]:
        update(found, known)
        known = read_known()
    limits = {"columns": f"line(s) of more than {COLUMNS} columns", "lines": f"lines, more than {LINES}",
              "sources": f"sources, more than {SOURCES}: it wants rooms"}
    faults = [f"{path}: a build product is committed" for path in products]
    for (rule, path), extent in sorted(found.items()):
        allowed = known.get((rule, path), 0)
        if extent > allowed:
            was = f" (tests/lint/known.txt allows {allowed})" if allowed else ""
            faults.append(f"{path}: {extent} {limits[rule]}{was}")
    faults += [f"{path}: keeps the rule about {rule} now; tests/lint/tree.py --update takes it out of known.txt"
               for rule, path in sorted(known.keys() - found.keys())]
    print("\n".join(faults) or f"{len(paths)} files, {len(known)} known exceptions")
    sys.exit(1 if faults or len(paths) < 1000 else 0)


main()
