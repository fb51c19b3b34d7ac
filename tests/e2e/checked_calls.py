# variants: kcfi cfi
# Clang's control-flow integrity: a function is probed where it begins, whether it is called directly or by a table, and
# neither the data before it nor the table's entry is taken for it.
from spiletest import *

binary = program(f"checked_calls_{VARIANT}")
own = start(binary, 300).communicate()[0].decode()
for suffix in ["call", "return"]:
    result = spile("-e", f"""global n probe process.function("*").{suffix} {{ n[ppfunc()]++ }}
        probe end {{ foreach (f+ in n) printf("%s %d\\n", f, n[f]) }}""", "-c", f"{binary} 300").expect(status=0)
    for line in ["twice 400", "thrice 100", "fourth 100", "never_taken 300"]:
        expect_match(f"^{line}$", result.out, f"{suffix}\n{result}")
    expect_true(result.out.startswith(own) and "cfi" not in result.out, str(result))
listed = spile("-l", f'process("{binary}").function("*")').expect(status=0).out
expect_true("cfi" not in listed.replace(binary, ""), listed)
result = spile("-e", 'global n probe process.function("twice") { n += $x == $x } probe end { println(n) }', "-c", f"{binary} 300")
result.expect(status=0, out=own + "400\n")
