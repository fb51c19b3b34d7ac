# Arrays have the sizes that the compiler says, whatever form it says them in (255 as one byte 0xff), and those whose size is
# known at run time alone have the elements that the program gave them.
# variants: gcc clang-19
from spiletest import *

SOURCE = r"""
#include <stdio.h>
char letters[256] = "text";
int middle[201], large[40000], most[256], none[0];
struct { char name[129]; short rest[65536]; } whole = {"whole"};
__attribute__((noinline)) void look(int *v) { __asm__("" : : "r"(v) : "memory"); }
void fill(int n) {
  int row[n], table[n][n + 1];
  for (int i = 0; i < n; i++) {
    row[i] = i * 3;
    for (int j = 0; j <= n; j++) table[i][j] = i * 100 + j;
  }
  look(&table[0][0]);
  printf("%d %d %d\n", row[n - 1], table[n - 1][n], table[1][2]);
}
int main() {
  most[200] = 77;
  for (int n = 2; n < 5; n++) fill(n);
  return letters[0] + middle[0] + large[0] + most[0] + whole.rest[0] == 0;
}
"""
folder = temporary_directory()
(folder / "a.c").write_text(SOURCE)
subprocess.run([installed(VARIANT), "-g", "-O0", "-o", "a", "a.c"], cwd=folder, check=True)
line = 1 + next(i for i, text in enumerate(SOURCE.splitlines()) if "look(&table" in text)
run = spile("-e", """
probe process.begin {
  printf("%%d %%d %%d %%d\\n", @sizeof(@var("letters")), @sizeof(@var("middle")),
    @sizeof(@var("large")), @sizeof(@var("whole")))
}
probe process.statement("fill@a.c:%d") {
  n = $n
  printf("> %%d %%d %%d\\n", $row[n - 1], $table[n - 1][n], $table[1][2])
  println($row$)
  println(@var("letters")$, @var("whole")->name$, " ", @var("most")[200])
}""" % line, "-c", folder / "a").expect(status=0)
lines = run.out.splitlines()
sizes = " ".join(str(size) for size in [256, 804, 160000, 131202])
expect(lines[0], sizes)
expect([text[2:] for text in lines if text.startswith(">")], [text for text in lines[1:] if text[0].isdigit()], "elements")
expect([text for text in lines if text.startswith("[")], ["[0, 3]", "[0, 3, 6]", "[0, 3, 6, 9]"], "rows")
expect([text for text in lines if text.startswith('"')], ['"text""whole" 77'] * 3, "texts")
