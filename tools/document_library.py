#!/usr/bin/env python3
"""Makes the documentation of the library's functions and macros out of the comments in tapset/.

    document_library.py markdown TAPSET            the page docs/library.md, on standard output
    document_library.py man TAPSET FOLDER          a manual page for each, function::NAME.3stp and so on, in FOLDER
    document_library.py check TAPSET               says what lacks a comment, or has one that does not fit; status 1

A comment stands before what it describes:

    /**
     * sfunction NAME - what it does, in a line         (macro NAME - ... for @define, probe NAME - ... for an alias)
     * @argument: what it is
     *
     * Description: the rest, one or more paragraphs
     */

What begins with two underscores, or is private, is nobody's business.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*\*\n(.*?)\*/\s*", re.S)
FUNCTION = re.compile(r"^function\s+(\w+)\s*(:\s*\w+)?\s*\(([^)]*)\)", re.M)
MACRO = re.compile(r"^@define\s+(\w+)\s*(?:\(([^)]*)\))?", re.M)
PROBE_NAME = r'(?:[\w.]|\("\w+"\))+'  # kernel.syscall("read")
ALIAS = re.compile(rf"^probe\s+({PROBE_NAME})((?:\s*,\s*{PROBE_NAME})*)\s*\+?=", re.M)


class Entry:
    """kind: function, macro or probe; signature as SystemTap's pages have it: NAME:TYPE(argument:type,...)"""

    def __init__(self, kind, name, signature, arguments):
        self.kind, self.name, self.signature, self.arguments = kind, name, signature, arguments
        self.brief, self.described, self.description = "", [], []

    def page(self):
        # Names of files have no quotes: probe::kernel.syscall.read
        return f"{self.kind}::" + re.sub(r'\("(\w+)"\)', r".\1", self.name)


def declared(text):
    """(position, entry) of everything that a file declares for its users."""
    for match in FUNCTION.finditer(text):
        if match[1].startswith("__"):
            continue
        arguments = [a.strip() for a in match[3].split(",") if a.strip()]
        result = (match[2] or "").replace(" ", "")
        signature = f"{match[1]}{result}({', '.join(arguments)})"
        yield match.start(), Entry("function", match[1], signature, [a.split(":")[0].split("=")[0].strip() for a in arguments])
    for match in MACRO.finditer(text):
        if match[1].startswith("__"):
            continue
        arguments = [a.strip() for a in (match[2] or "").split(",") if a.strip()]
        yield match.start(), Entry("macro", match[1], f"@{match[1]}({', '.join(arguments)})", arguments)
    for match in ALIAS.finditer(text):
        if match[1].startswith(("__", "syscall.")) or ".__" in match[1]:  # docs/syscalls.md has those of system calls
            continue
        yield match.start(), Entry("probe", match[1], match[1] + match[2], [])


def read_comment(entry, comment, problems, where):
    """Fills the entry from the text between /** and */."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.split("\n")]
    head = re.match(rf"(sfunction|macro|probe) ({PROBE_NAME}) - (.+)", lines[0])
    if not head:
        problems.append(f"{where}: the comment's first line is not `sfunction NAME - what it does`")
        return
    if head[2] != entry.name:
        problems.append(f"{where}: the comment of {entry.name} calls it {head[2]}")
    entry.brief = head[3]
    current = None
    for line in lines[1:]:
        argument = re.match(r"@(\w+): (.*)", line)
        if argument:
            current = [argument[1], argument[2]]
            entry.described.append(current)
        elif line.startswith("Description: "):
            current = None
            entry.description = [line[len("Description: "):]]
        elif not line:
            current = None
            if entry.description:
                entry.description.append("")
        elif current:
            current[1] += " " + line
        elif entry.description:
            entry.description[-1] += (" " if entry.description[-1] else "") + line
    entry.description = [p for p in entry.description if p]
    names = [name for name, _ in entry.described]
    if entry.kind != "probe" and names != entry.arguments:
        problems.append(f"{where}: {entry.name} has the arguments {entry.arguments}, its comment {names}")
    if not entry.description:
        problems.append(f"{where}: {entry.name} has no description")


def read_library(folder):
    """[(tapset's name, its line about itself, entries)], and what is wrong."""
    tapsets, problems = [], []
    for path in sorted([*folder.rglob("*.stp"), *folder.rglob("*.stpm")]):
        text = path.read_text()
        ends = {match.end(): match[1] for match in COMMENT.finditer(text)}
        entries = []
        for position, entry in sorted(declared(text), key=lambda pair: pair[0]):
            where = f"{path}:{text.count(chr(10), 0, position) + 1}"
            if position not in ends:
                problems.append(f"{where}: {entry.kind} {entry.name} has no documentation comment")
            else:
                read_comment(entry, ends[position], problems, where)
            entries.append(entry)
        about = re.match(r"// tapset: (.*)", text)
        if entries and not about:
            problems.append(f"{path}: the first line is not `// tapset: NAME - what it is about`")
        if entries:
            tapsets.append((path.stem, about[1] if about else path.stem, entries))
        for block in re.finditer(r"^ \* sfunction (\w+) - ", text, re.M):
            if block[1] not in [entry.name for entry in entries]:
                problems.append(f"{path}: {block[1]} is documented and not there")
    return tapsets, problems


def markdown(tapsets):
    yield "# The library"
    yield ""
    yield ("The functions, macros and probe aliases that every script can use, by tapset. Made from the comments in `tapset/` by"
           "\n`./dev docs`; installed as manual pages: `man function::strlen`.")
    for _, about, entries in tapsets:
        yield f"\n## {about}\n"
        for entry in entries:
            yield f"- `{entry.signature}`: {entry.brief}. {' '.join(entry.description)}"
            for name, what in entry.described:
                yield f"  - `{name}`: {what}"
    yield ""


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def manual_pages(tapsets, folder):
    pages = {}
    for name, about, entries in tapsets:
        for entry in entries:
            pages.setdefault(entry.page(), []).append((name, about, entry))
    folder.mkdir(parents=True, exist_ok=True)
    for page, versions in pages.items():
        tapset, about, first = versions[0]
        lines = [f".TH {page.upper()} 3stp \"\" spile \"The library of spile\"", ".SH NAME", f"{page} \\- {escape(first.brief)}",
                 ".SH SYNOPSIS", ".nf"]
        lines += [escape(entry.signature) for _, _, entry in versions]
        lines += [".fi"]
        for _, _, entry in versions:
            title = f" OF {entry.signature}" if len(versions) > 1 else ""
            if entry.described:
                lines.append(f".SH ARGUMENTS{escape(title)}" if title else ".SH ARGUMENTS")
                for name, what in entry.described:
                    lines += [".TP", f".I {name}", escape(what)]
            lines.append(f".SH DESCRIPTION{escape(title)}" if title else ".SH DESCRIPTION")
            lines += [escape(p) + "\n.PP" for p in entry.description]
        lines += [".SH SEE ALSO", f"tapset::{tapset}(3stp), spile(1)"]
        (folder / f"{page}.3stp").write_text("\n".join(lines) + "\n")
    for name, about, entries in tapsets:
        lines = [f".TH TAPSET::{name.upper()} 3stp \"\" spile", ".SH NAME",
                 f"tapset::{name} \\- {escape(about.split(' - ')[-1])}", ".SH DESCRIPTION"]
        for entry in {entry.page(): entry for entry in entries}.values():
            lines += [".TP", f".B {entry.name}", f"{escape(entry.brief)}. See {entry.page()}(3stp)."]
        lines += [".SH SEE ALSO", "spile(1)"]
        (folder / f"tapset::{name}.3stp").write_text("\n".join(lines) + "\n")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("markdown", "man", "check"):
        sys.exit(__doc__)
    tapsets, problems = read_library(pathlib.Path(sys.argv[2]))
    for problem in problems:
        print(problem, file=sys.stderr)
    if sys.argv[1] == "markdown":
        print("\n".join(markdown(tapsets)), end="")
    elif sys.argv[1] == "man":
        manual_pages(tapsets, pathlib.Path(sys.argv[3]))
    sys.exit(1 if problems else 0)


main()
