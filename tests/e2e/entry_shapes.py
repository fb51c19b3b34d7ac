# Functions whose first instructions are branch targets, calls, loops, string instructions or a single byte, tail calls, and
# recursion 10,000 deep: as many hits as calls, as many returns, and the program's own result.
import re

from spiletest import *

ROUNDS = 1000
each = {name: ROUNDS for name in ["to_second", "marked_loop", "call_first", "call_second", "indirect_call_first", "branch_first",
                                  "jrcxz_first",
                                  "loop_first", "rep_first", "tail", "relative", "one_byte"]}
# Its loop leads to its entry: passed three times a call. The tail call is a call of it.
each |= {"to_entry": 3 * ROUNDS, "marked": 2 * ROUNDS, "recurse": 10001}
plain = subprocess.run([program("odd_entries"), str(ROUNDS)], capture_output=True, text=True, check=True).stdout
names = ", ".join(f'process.function("{name}")' for name in each)
returns = ", ".join(f'process.function("{name}").return' for name in each)
for what, handlers in [("entries", f"probe {names} {{ n[ppfunc()]++ }}"), ("returns", f"probe {returns} {{ r[ppfunc()]++ }}"),
                       ("both", f"probe {names} {{ n[ppfunc()]++ }} probe {returns} {{ r[ppfunc()]++ }}")]:
    result = spile("-e", "global n, r " + handlers + """
        probe end { foreach (f+ in n) printf("entry %s %d\\n", f, n[f]) foreach (f+ in r) printf("return %s %d\\n", f, r[f]) }""",
                   "-c", f"{program('odd_entries')} {ROUNDS}").expect(status=0)
    expect_true("skipped" not in result.err, f"nothing is skipped: {result.err}")
    expect(result.out.splitlines()[0] + "\n", plain, what)
    counted = re.findall(r"^(entry|return) (\w+) (\d+)$", result.out, re.M)
    for kind in ["entry"] * (what != "returns") + ["return"] * (what != "entries"):
        expect({name: int(count) for k, name, count in counted if k == kind}, each, f"{what}, {kind}")
