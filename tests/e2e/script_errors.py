# Wrong scripts: a located error, status 1, and the program is not started.
from spiletest import *

for script, pattern in [
    ("probe begin { x = }", r":1:\d+: error:"),
    ("probe begin { x = 1 +* 2 }", r":1:\d+: error:"),
    ("probe begin { print(1 }", r":1:\d+: error:"),
    ('probe begin { x = "a" + 1 }', r":1:\d+: error:.*"),
    ('global s probe begin { s = 1; s = "x" }', r":1:\d+: error:"),
    ('global a probe begin { a["x"] = 1; a[1] = 2 }', r":1:\d+: error:"),
    ("probe begin { nonsense(1) }", r":1:\d+: error:.*nonsense"),
    ("probe begin { println(99999999999999999999) }", r":1:\d+: error:.*(range|large|big)"),
    ('probe process("/bin/true").fun*("f") { }',
     r":1:7: error: .*a '\*' outside of quotes matches only aliases(.*\n)*  hint: choose one of: .*function"),
    ("probe nonsense { }", r":1:\d+: error:.*nonsense"),
    ("probe begin { println($x) }", r":1:\d+: error:"),
    ("probe begin {\n  y = 1\n  break\n}", r":3:\d+: error:"),
    ("global a[0] probe begin { a[1] = 2 }", r"error:"),
    ('probe begin { println("unterminated) }', r":1:\d+: error:"),
    ("probe process.syscall { println(@entry(tid())) }", r"@entry needs a .return probe"),
]:
    result = spile("-e", script, "-c", f"{program('calls')} 10").expect(status=1, out="", err_match=pattern)
    expect_match(r"\^", result.err, f"the caret under {script!r}")
