# Every verb has a manual page, made of docs/verbs.md and of `spile VERB --help`: it has all options of that and of the verb's
# usage, and is one that man(1) shows without complaints.
from spiletest import *

pages = temporary_directory() / "man1"
made = subprocess.run([sys.executable, "-B", ROOT / "tools/document_verbs.py", SPILE, ROOT / "docs/verbs.md", pages],
                      capture_output=True, text=True)
expect((made.returncode, made.stderr), (0, ""))
verbs = re.findall(r"^       spile \[OPTIONS\] ([a-z]+)\b", spile("--help").expect(status=0).out, re.M)
expect_true(len(verbs) >= 19, verbs)
expect({path.name for path in pages.iterdir()}, {f"spile-{verb}.1" for verb in verbs})
options = 0
for verb in verbs:
    helped = spile(verb, "--help").expect(status=0, err="", out_match=rf"^Usage: spile \[OPTIONS\] {verb} ").out
    source = (pages / f"spile-{verb}.1").read_text()
    named = set(re.findall(r"--[a-z][a-z-]*", helped)) - {"--help"}
    options += len(named)
    plain = source.replace("\\-", "-")
    expect(sorted(option for option in named if option not in plain), [], f"options of {verb} that its page lacks")
    expect_match(rf"^\.TH SPILE\\-{verb.upper()} 1 ", source)
    expect_true(len(source) > 700, f"the page of {verb} has a description")
    if shutil.which("groff"):
        shown = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-K", "utf8", pages / f"spile-{verb}.1"],
                               capture_output=True, text=True)
        expect((shown.returncode, shown.stderr), (0, ""), f"groff's complaints about {verb}")
        text = re.sub(r"\x1b\[[\d;]*m|.\x08", "", shown.stdout)
        expect_true("](" not in text and "**" not in text, text)
expect_true(options > 30, f"{options} options")
# The page says what the document says.
expect_match(r"^\\fB\\-\\-depth N\\fR$", (pages / "spile-trace.1").read_text())
expect_match(r"overwrites itself", (pages / "spile-snap.1").read_text())

# A verb without a section is an error.
(pages / "x.md").write_text("## hist\n\nx\n")
lacking = subprocess.run([sys.executable, "-B", ROOT / "tools/document_verbs.py", SPILE, pages / "x.md", pages],
                         capture_output=True, text=True)
expect((lacking.returncode, "no section is about funcs" in lacking.stderr), (1, True))
