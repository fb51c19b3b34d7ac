# A structure with a flexible array takes a register in C of gcc and none elsewhere: what comes behind it is found all the same.
# variants: flexible flexible_clang_cxx flexible_gcc flexible_gcc_cxx
from spiletest import *

result = spile("-e", r"""
probe process.function("given") { println($n) }
probe process.function("given").return { println($return->number) }
probe process.function("taken") { printf("%d %d %d %d\n", $f->number, $z->number, $n, $last) }
""", "-c", program(VARIANT)).expect(status=0)
expect(result.out, "1\n1\n1 2 3 4\n")
