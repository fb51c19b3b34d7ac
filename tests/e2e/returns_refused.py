# Functions whose returns can't be probed are counted at their entries all the same, and the message says so.
from spiletest import *

binary = program("instrumented")
own = start(binary, 300).communicate()[0].decode()
expect(own, "sum 315150 hooks 900 900 strange 0\n")

SCRIPT = """global e, r
    probe process.function("%s").call { e[ppfunc()]++ }
    probe process.function("%s").return { r[ppfunc()]++ }
    probe end { foreach (f+ in e) printf("%%s %%d %%d\\n", f, e[f], r[f]) }"""

# Named and by a pattern.
for name in ["more", "mor?"]:
    result = spile("-e", SCRIPT % (name, name), "-c", f"{binary} 300").expect(status=0, out=own + "more 300 0\n")
    expect_match(r"^WARNING: returns of more in .+ can't be probed: it looks at its own return address$", result.err)
result = spile("-e", SCRIPT % ("*", "*"), "-c", f"{binary} 300").expect(status=0)
for line in ["more 300 0", "work 600 0", "plain 300 300"]:
    expect_match(f"^{line}$", result.out, "counts")
expect_true(result.out.startswith(own), f"the program's output\n{result}")

# The return alone, by name: an error before the program begins.
result = spile("-e", 'probe process.function("work").return { println("never") }', "-c", f"{binary} 300").expect(status=1, out="")
expect_match("function 'work' of .* can't be probed at its return: it looks at its own return address", result.err)
# By a pattern that something else fits too.
result = spile("-e", 'global r probe process.function("work"), process.function("plain").return { r++ } probe end { println(r) }',
               "-c", f"{binary} 300").expect(status=0, out=own + "900\n")
result = spile("-e", 'global r probe process.function("[wp]*").return { r++ } probe end { println(r) }',
               "-c", f"{binary} 300").expect(status=0, out=own + "300\n", err_match="returns of work in .* can't be probed")

# A function of the C library that asks who has called it.
result = spile("-e", """global e, r probe process("/lib/x86_64-linux-gnu/libc.so.6").function("dl_iterate_phdr") { e++ }
    probe process("/lib/x86_64-linux-gnu/libc.so.6").function("dl_iterate_phdr").return { r++ }
    probe end { println(e, " ", r) }""", "-c", f"{program('backtraces')}")
expect_true(result.status == 0 and "returns of dl_iterate_phdr" in result.err, str(result))
