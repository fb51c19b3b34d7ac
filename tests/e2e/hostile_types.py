# Structures and containers whose memory is garbage are printed as far as they go: nothing fails, and nothing is followed without
# end.
from spiletest import *

SCRIPT = r"""
probe process.function("bad_pointers") { println($p$, " ", $nowhere$, " ", $null$) println($$parms$$) }
probe process.function("cyclic") { println($list$) println($map$$) }
probe process.function("garbage") { println($$parms$$) }
"""
out = spile("-e", SCRIPT, "-c", program("hostile_types"), "-o", "/dev/stderr").expect(status=0, out="done\n").err.splitlines()
POINTERS = r'{.null_text=NULL, .bad_text=<0x10: unreadable>, .null=NULL, .good="a\033[31mb"}'
expect(out[0], POINTERS + " <0x1000: unreadable> NULL")
expect(out[1], f"p={POINTERS} nowhere=<0x1000: unreadable> null=NULL")
expect(out[2], "[1, " + "2, " * 31 + "...]")
expect_true(out[3].startswith("{1: 10, ") and out[3].endswith(", ...}"), out[3])
for part in ("ends_before=[<0x2000: unreadable>] ", "nowhere=[<0x10: unreadable>] ", "text=<0x123: unreadable> ",
             "deque=[<0x4444444444444444: unreadable>] ",
             "hash={<0xdead: unreadable>} ", "variant={valueless} ",
             "shared=0x00000000deadbeef -> <0xdeadbeef: unreadable> (use <0x3b: unreadable>) ",
             "bits=[<0x77: unreadable>]"):
    expect_true(part in out[4] + " ", f"{part} is not in {out[4]}")
