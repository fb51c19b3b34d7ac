# The manual page and --help know the same options, and the manual page is one that man(1) can show.
from spiletest import *

source = (ROOT / "docs/man/spile.1").read_text()
section = source[source.index(".SH OPTIONS"):source.index(".SH PROBE POINTS")]
plain = re.sub(r"\\f[BIR]", " ", section).replace("\\-", "-")

# An option's names stand in the line after .TP, or in the text of another's.
in_manual = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[A-Za-z])(?![\w])", plain))
in_help = set()
for line in spile("--help").expect(status=0, err="").out.splitlines():
    if line.startswith("  -"):
        in_help |= set(re.findall(r"(?:^|, )(--?[A-Za-z-]+)", line.strip()))
expect_true(len(in_help) > 60, f"--help lists options: {in_help}")
expect(sorted(in_help - in_manual), [], "options of --help that the manual page lacks")
expect(sorted(in_manual - in_help), [], "options of the manual page that --help lacks")

# Each is one that the program knows.
for option in sorted(in_help - {"-h", "-V", "--help", "--version"}):
    result = spile(option, "--help")
    expect_true("unknown option" not in result.err, f"{option} is known: {result.err}")
