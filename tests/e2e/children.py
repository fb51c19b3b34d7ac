# variants: fork vfork spawn system exec popen badexec memory parent
# A probed program that starts others, in every way there is.
from spiletest import *

result = spile("-e", """global n probe process.function("foo") { n[pid() == target()]++ }
probe process.function("foo").return { } probe end { printf("own %d\\n", n[1]) }""",
               "-c", f"{program('forks')} {VARIANT} 20").expect(status=0)
expect_match("^good 20 sum 145$", result.out)
expect_match("^own 20$" if VARIANT == "exec" else "^own 10$", result.out)
