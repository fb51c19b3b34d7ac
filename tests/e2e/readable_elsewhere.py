# A variable that can't be read at a place: the error's hint says where it has a value, and the probe point that it names reads
# what the program itself prints.
# variants: gcc_O0 gcc_O2 clang_O2
from spiletest import *

compiler, level = VARIANT.replace("clang", "clang-19").split("_")
folder = temporary_directory()
(folder / "shop.c").write_text("""#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { int doubled = x * 2 + rand(); printf("doubled %d\\n", doubled); return doubled; }
__attribute__((noinline)) int price_of(int* item, int count) {
  int other = rand() + *item * count;
  if (other > 100) {
    int inner = other * 3;
    printf("inner %d\\n", inner);
  }
  printf("other %d\\n", other);
  return rand() + twice(rand());
}
int main(int argc, char** argv) { return price_of(&argc, 3) == 0; }
""")
shop = str(folder / "shop")
subprocess.run([compiler, "-g", f"-{level}", "-o", shop, folder / "shop.c"], check=True)
for name in ("inner", "other"):
    failed = spile("-e", f'probe process.function("price_of") {{ println(${name}) }}', "-c", shop).expect(
        status=1, out="", err_match=rf"(error: '\${name}' (is optimized out here|has no value yet at the function's "
                                    rf"entry)|error: no variable '\${name}' is visible here)")
    hint = re.search(r'hint: (it has a value at price_of\+\[[0-9,-]+\]; )?the nearest line where it can be read is (\d+): '
                     r'(statement\("price_of@shop.c:\2"\))', failed.err)
    expect_true(hint, f"no hint says where: {failed}")
    read = spile("-e", f'probe process.{hint[3]} {{ printf("spile: %d\\n", ${name}) exit() }}', "-c", shop, "-o",
                 "/dev/stderr").expect(status=0)
    if level != "O0":  # there a slot of the stack may hold anything before it is set
        expect_match(rf"^{name} {re.search('spile: (.*)', read.err)[1]}$", read.out)
    # The same is asked by the verb.
    expect_match(rf'\${name} .*not readable: .*\n +(it has a value at .*; )?the nearest line where it can be read is '
                 rf'\d+|^((?!\${name}).|\n)*$', spile("vars", shop, "price_of").expect(status=0).out)
spile("-e", 'probe process.function("price_of") { println($nosuch) }', "-c",
      shop).expect(status=1, err_match=r"hint: there are: \$item, \$count")
spile("-e", 'probe process.function("price_of") { println(@defined($inner), " ", $$vars) }', "-c", shop, "-o",
      "/dev/stderr").expect(status=0, err_match=r"^0 item=0x\w+ count=0x3 other=\?$")
