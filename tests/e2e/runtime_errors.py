# variants: division modulo overflow map begin
# Errors while it runs: reported with line and column, status 1, and the program finishes unharmed.
from spiletest import *

script, pattern = {
    "division": ('probe process.function("foo") {\n  println(1 / ($arg - 5))\n}', r"division by 0 .*:2:13$"),
    "modulo": ('probe process.function("foo") {\n  println(1 % ($arg - 5))\n}', r"division by 0 near operator '%' at .*:2:13$"),
    "overflow": ('global a[10] probe process.function("foo") {\n  a[$arg] = 1\n}', r"ERROR: .*(overflow|full).*:2:\d+$"),
    "map": ('global a probe process.function("foo") {\n  a[$arg] = 1\n}', r"ERROR: .*(overflow|full).*:2:\d+$"),
    "begin": ("global z probe begin {\n  println(10 / z)\n}", r"division by 0 .*:2:14$"),
}[VARIANT]
result = spile("-e", script, "-c", f"{program('calls')} 100000").expect(status=1, err_match=pattern)
expect_match(r"^ +2 \| .*\n +\| +\^~*$", result.err, "the line of the script with a caret")
if VARIANT != "begin":
    expect_match("^foo 14999950000$", result.out, "the program's own output")
