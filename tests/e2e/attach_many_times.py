# Attached to and detached from a program whose threads never rest, again and again: 40 times, 200 times in the long form.
# long
from spiletest import *

target = server(seconds=600, threads=3)
script = r"""global c probe process.function("work") { if (c++ > 100) exit() }
probe process.function("work").return { if ($return < 0) println("wrong") } probe end { println("ok") }"""
for turn in range(200 if LONG_FORM else 40):
    spile("-e", script, "-x", target.pid).expect(out="ok\n", status=0)
    expect_untouched(target.pid)
expect_match(r"^calls \d+ wrong 0$", finish(target))
