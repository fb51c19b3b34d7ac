# Debug information of which somebody has stripped a section: the error names that section rather than another reason.
from spiletest import *

folder = temporary_directory()
(folder / "sum.c").write_text("""__attribute__((noinline)) int sum(int a, int b) { return a + b; }
int main(void) { return sum(1, -1); }
""")
whole = folder / "whole"
subprocess.run(["gcc", "-g", "-gdwarf-5", "-o", whole, folder / "sum.c"], check=True)
for section in ".debug_line_str", ".debug_line", ".debug_abbrev":
    path = folder / section[1:]
    subprocess.run(["objcopy", "--remove-section", section, whole, path], check=True)
    for words in (["lines", path, "sum"], ["-p2", "-e", f'probe process("{path}").statement("sum@sum.c:1") {{ exit() }}']):
        spile(*words).expect(
            status=1, out="", err_match=rf"hint: its debug information lacks {re.escape(section)}, which may have been stripped")
# Where nothing is missing, the pattern is what is wrong.
spile("-p2", "-e", f'probe process("{whole}").statement("sum@other.c:1") {{ exit() }}').expect(
    status=1, err_match="the pattern is matched with the file name that the compiler was given")
