# Everything in the library has a comment that fits it, and the page made from the comments is up to date.
from spiletest import *

tool = ROOT / "tools/document_library.py"


def run(*arguments):
    return subprocess.run([sys.executable, "-B", tool, *arguments], capture_output=True, text=True)


checked = run("check", ROOT / "tapset")
expect(checked.stderr, "")
expect(checked.returncode, 0)
expect_true(run("markdown", ROOT / "tapset").stdout == (ROOT / "docs/library.md").read_text(),
            "docs/library.md is not what ./dev docs makes")
pages = temporary_directory() / "man3"
run("man", ROOT / "tapset", pages)
expect_match(r"^strlen:long\(s:string\)$", (pages / "function::strlen.3stp").read_text())
# The names that older scripts have for forms with another string.
for name in ("user_string2", "user_string_n2", "kernel_string2"):
    expect_match(rf"^{name}:string\(addr:long, (n:long, )?err_msg:string\)$", (pages / f"function::{name}.3stp").read_text())
    expect_match(rf"^{name}:string \(addr:long, ", spile("--dump-functions").expect(status=0).out)
expect_true(len(list(pages.iterdir())) > 300, "manual pages are missing")

# The check sees what is wrong.
wrong = temporary_directory()
(wrong / "w.stp").write_text("""// tapset: w - wrong
function bare() { }
/**
 * sfunction other - x
 * @a: x
 *
 * Description: x
 */
function name(b) { }
""")
checked = run("check", wrong)
expect(checked.returncode, 1)
for problem in (r"w.stp:2: function bare has no documentation comment", r"the comment of name calls it other",
                r"name has the arguments \['b'\], its comment \['a'\]", r"other is documented and not there"):
    expect_match(problem, checked.stderr)
