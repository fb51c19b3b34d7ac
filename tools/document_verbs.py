#!/usr/bin/env python3
"""Makes a manual page for each verb, spile-VERB.1, of the verb's section in docs/verbs.md and of what `spile VERB --help` prints.

    document_verbs.py SPILE VERBS.MD FOLDER

Of Markdown it knows what docs/verbs.md has: headings, paragraphs, lists, tables, indented code, `code`, **bold**, links."""
import pathlib
import re
import subprocess
import sys


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def inline(text):
    """A line of text with fonts. Links keep their words, and their target where it is on the web."""
    made = ""
    for part in re.split(r"(`[^`]+`|\*\*.+?\*\*|\[[^\]]+\]\([^)]+\))", text):
        link = re.fullmatch(r"\[([^\]]+)\]\(([^)]+)\)", part)
        if part.startswith("`") and len(part) > 1:
            made += "\\fB" + escape(part[1:-1]).removeprefix("\\&") + "\\fR"
        elif part.startswith("**") and len(part) > 4:
            made += "\\fB" + inline(part[2:-2]) + "\\fR"
        elif link:
            made += inline(link[1]) + (f" ({escape(link[2])})" if link[2].startswith("http") else "")
        else:
            made += escape(part).removeprefix("\\&") if made else escape(part)
    return made


def cells(row):
    """Those of a table's line; a bar in code is a part of it, as is one behind a backslash."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def body(markdown):
    """The lines of a section."""
    # A list or a table may follow its paragraph without an empty line.
    markdown = re.sub(r"^((?![-|] ?|  ).+)\n(?=- |\|)", r"\1\n\n", markdown, flags=re.M)
    for block in re.split(r"\n\s*\n", markdown.strip("\n")):
        lines = block.split("\n")
        if lines[0].startswith("### "):
            yield f".SS {inline(lines[0][4:])}"
            lines = lines[1:]
        if not lines:
            continue
        if all(line.startswith("    ") for line in lines):
            yield from [".PP", ".RS 4", ".nf", *(escape(line[4:]) for line in lines), ".fi", ".RE"]
        elif lines[0].startswith("|"):
            for row in lines[2:]:
                first, *rest = cells(row)
                yield from [".TP", inline(first), inline(" - ".join(rest))]
        elif lines[0].startswith("- "):
            for item in re.split(r"\n(?=- )", "\n".join(lines)):
                yield from [".IP \\(bu 3", inline(" ".join(line.strip() for line in item[2:].split("\n")))]
        else:
            yield from [".PP", inline(" ".join(line.strip() for line in lines))]


def page(verb, help_text, section):
    usage, brief = re.match(r"Usage: spile \[OPTIONS\] \S+ ?(.*)\n\n(.*)\.\n", help_text).groups()
    yield from [f".TH SPILE\\-{verb.upper()} 1 \"\" spile \"Verbs of spile\"", ".SH NAME",
                f"spile\\-{verb} \\- {escape(brief[0].lower() + brief[1:])}", ".SH SYNOPSIS",
                f".B spile\n[\\fIOPTIONS\\fR] \\fB{verb}\\fR {escape(usage).removeprefix(chr(92) + '&')}", ".SH DESCRIPTION",
                *body(section)]
    options = re.findall(r"^  (--\S+(?: [A-Z]+)?) +(.*)$", help_text, re.M)
    if options:
        yield ".SH OPTIONS"
        for name, what in options:
            yield from [".TP", f"\\fB{escape(name)}\\fR", escape(re.sub(r"^[a-z, ]+: ", "", what)) + "."]
    yield from [".PP", "Other options are those of", ".BR spile (1).", ".SH SEE ALSO", ".BR spile (1)"]


def main(spile, verbs_file, folder):
    sections = {}
    for heading, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", verbs_file.read_text(), re.M):
        for name in re.split(r", | and ", heading):
            sections[name] = text
    run = lambda *words: subprocess.run([spile, *words], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^       spile \[OPTIONS\] ([a-z]+) ", run("--help"), re.M)
    folder.mkdir(parents=True, exist_ok=True)
    for verb in verbs:
        if verb not in sections:
            sys.exit(f"{verbs_file}: no section is about {verb}")
        (folder / f"spile-{verb}.1").write_text("\n".join(page(verb, run(verb, "--help"), sections[verb])) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
