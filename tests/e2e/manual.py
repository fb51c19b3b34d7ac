# The manual page and --help know the same options and verbs, with the same words.
from spiletest import *

source = (ROOT / "docs/man/spile.1").read_text()
section = source[source.index(".SH OPTIONS"):source.index(".SH PROBE POINTS")]
plain = re.sub(r"\\f[BIR]", " ", section).replace("\\-", "-")

# An option's names stand in the line after .TP, or in the text of another's.
in_manual = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[A-Za-z])(?![\w])", plain))
in_help = set()
help_text = spile("--help").expect(status=0, err="").out
for line in help_text.splitlines():
    if line.startswith("  -"):
        in_help |= set(re.findall(r"(?:^|, )(--?[A-Za-z-]+)", line.strip()))
expect_true(len(in_help) > 60, f"--help lists options: {in_help}")
expect(sorted(in_help - in_manual), [], "options of --help that the manual page lacks")
expect(sorted(in_manual - in_help), [], "options of the manual page that --help lacks")

# Each is one that the program knows.
for option in sorted(in_help - {"-h", "-V", "--help", "--version"}):
    result = spile(option, "--help")
    expect_true("unknown option" not in result.err, f"{option} is known: {result.err}")

# The SYNOPSIS is what --help says of the usage: a line for each verb of the table (verbs/verb.cpp), with its words.
synopsis = source[source.index(".SH SYNOPSIS"):source.index(".SH DESCRIPTION")].splitlines()
words = re.sub(r"\\f[BIR]|^\.B ", "", "\n".join(line for line in synopsis if not re.match(r"\.(SH|nh|hy|ad)", line)), flags=re.M)
words = words.replace("\n.br\n", "\f").replace("\n", " ").replace("\f", "\n").replace("\\-", "-").replace("\\(aq", "'")
usage = re.sub(r"^(Usage:|      ) ", "", help_text[help_text.index("Usage:"):help_text.index("\n\nVerbs")], flags=re.M)
expect(words, re.sub(r" +\(.*\)$", "", usage, flags=re.M), "the manual page's SYNOPSIS, beside --help")

# Each verb has its place in the section about verbs.
verbs = re.findall(r"^spile \[OPTIONS\] ([a-z]+)", words, re.M)
expect_true(len(verbs) >= 19, f"verbs: {verbs}")
heads = re.findall(r"^\.TP\n\.BI?R? (.*)$", source[source.index(".SH VERBS"):source.index(".SH PROBE POINTS")], re.M)
described = {name for head in heads for name in re.findall(r"(?:^|\")\s*([a-z]+)\b", head)}
expect(sorted(set(verbs) - described), [], "verbs that the manual page does not describe")
