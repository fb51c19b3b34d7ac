# The first example: every call is counted, once.
from spiletest import *

spile("-e", 'global c probe process.function("foo") { c++ } probe end { printf("%d\\n", c) }',
      "-c", f"{program('calls')} 5000000", "-o", "/dev/stderr").expect(
    out="foo 37499997500000\nbar 33\neight 204\nleaf 42\nfibonacci 610\ngreet 5\nmixed 4.5\nvariadic 6\ncountdown 42\n",
    err_match=r"^5000000$")
