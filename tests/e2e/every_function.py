# All functions of a program at once, by a wildcard, among them one whose loop branches back to its own entry.
from spiletest import *

result = spile("-e", """global n probe process.function("*").call { n[ppfunc()]++ }
probe end { foreach (f+ in n) if (f in n && n[f] >= 1) printf("%s %d\\n", f, n[f]) }""",
               "-c", f"{program('calls')} 100 2").expect(status=0)
for line in ["foo 200", "bar 1", "eight 1", "leaf 1", "fibonacci 1973", "greet 1", "mixed 1", "variadic 1", "empty 1",
             "countdown 10", "main 1", "run 2"]:
    name = line.split()[0]
    pattern = r"^countdown (1|10)$" if name == "countdown" else f"^{line}$"
    expect_match(pattern, result.out, name)
expect_match("^foo 29900$", result.out, "the program's own output")
