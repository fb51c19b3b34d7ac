# Clang takes results that no caller uses out of local functions, and says so in debug information (DW_CC_nocall): $return is an
# error there, and not what its register happens to hold. Others are read as ever.
from spiletest import *

clang = installed("clang-19")
folder = temporary_directory()
(folder / "shop.c").write_text("""#include <stdio.h>
__attribute__((noinline)) static int ignored(int x) { printf("%d\\n", x); return x * 7; }
__attribute__((noinline)) static int used(int x) { printf("%d\\n", x); return x * 7; }
int main(int argc, char** argv) { ignored(argc); return used(argc + 1) == 14 ? 0 : 1; }
""")
subprocess.run([clang, "-g", "-O2", "-o", folder / "shop", folder / "shop.c"], check=True, capture_output=True)
PATH = str(folder / "shop")
spile("-e", 'probe process.function("ignored").return { println($return) }', "-c",
      PATH).expect(status=1, err_match=r"'\$return' may be optimized out: .*DW_CC_nocall")
spile("-e", 'probe process.function("ignored").return { println($$return) }', "-c", PATH, "-o",
      "/dev/stderr").expect(status=0, err="return=?\n")
spile("-e", 'probe process.function("used").return { println($return) }', "-c", PATH, "-o",
      "/dev/stderr").expect(status=0, err="14\n")
