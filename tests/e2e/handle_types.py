# Iterators, futures and error codes are printed as the program itself prints them, whichever compiler and library made it.
# variants: gcc_O0 gcc_O2 clang_O0 clang_O2 libcxx_O0 libcxx_O2
from spiletest import *

PATH = program("handle_types_" + VARIANT)
out = spile("-D", "MAXSTRINGLEN=8000", "-e", 'probe process.function("probed") { println($e$$) println($e$) }', "-c", PATH, "-o",
            "/dev/stderr").expect(status=0)
whole, top = out.err.splitlines()
own = [line for line in out.out.splitlines() if "=" in line]
expect_true(len(own) > 28, "too little was printed")
for line in own:
    expect_true(f".{line}, " in whole or whole.endswith(f".{line}}}"), f"{line} is not in {whole}")
expect_match(r"\.in_list=0x[0-9a-f]{16}, ", top)
# Compilers that optimize take such parameters apart.
if VARIANT.endswith("O0"):
    out = spile("-e", 'probe process.function("probed") { println($by_value$$, " ", $method$$) }', "-c", PATH, "-o",
                "/dev/stderr").expect(status=0)
    expect(out.err, '{"shop": 2} Keeper::keep\n')
