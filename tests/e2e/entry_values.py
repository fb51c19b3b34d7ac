# variants: entry_values entry_values_gcc
# Variables of which the compiler has left nothing but what was in a register at the function's entry: the values that were
# passed, in every call; and never another one where the entry was not seen.
import collections

from spiletest import *

LINES = {}
for number, line in enumerate((ROOT / "tests/programs/entry_values.c").read_text().splitlines(), 1):
    if mark := re.search(r"// (\w+)$", line):
        LINES[mark[1]] = number


def at(function, mark):
    return f'process("{program(VARIANT)}").statement("{function}@*:{LINES[mark]}")'


def short(value):
    return (value + 32768) % 65536 - 32768


N = 300
printed = rf"""global right, wrong
probe {at('dies_early', 'after_clobber')} {{ printf("early %d %d %s %d %d %d %d\n", $a, $b, user_string($c), $d, $e, $f, $g) }}
probe {at('around', 'after_inlined')} {{ printf("around %d %d\n", $p, $q) }}
probe {at('inlined', 'in_inlined')} {{ if (@defined($r) && $r % 11) wrong++ }}
probe {at('jumps_out', 'not_jumped')} {{ printf("jumps %d\n", $n) }}
probe {at('tail_a', 'in_tail_a')} {{ printf("a %d %d\n", $n, $mark) }}
probe {at('tail_b', 'in_tail_b')} {{ printf("b %d %d\n", $n, $mark) }}
probe {at('recurse', 'after_recursion')} {{
  if ($n == 1 + 3 * (10000 - $depth)) right++
  else if ($n == {N} + 3 * (3 - $depth)) right++
  else wrong++
}}
probe {at('loops', 'after_loop')} {{ try {{ printf("loops %s\n", $$parms); println($n) }} catch (m) {{ println(m) }} }}
probe {at('forks', 'after_fork')} {{ try {{ printf("forks %s\n", $$parms); println($n * $m) }} catch (m) {{ println(m) }} }}
probe end {{ printf("recursion %d %d\n", right, wrong) }}"""
expected = []
for i in range(N):
    expected += [f"early {i} {-i} abc {i % 256} {i << 40} {short(i)} {2 * i}", f"around {i} {11 * i}", f"jumps {2 * i}"]
    expected += ["a 4 1000", "b 3 1000", "a 2 1000", "b 1 1000"]
    expected += [f"early {i} {i + 1} {'xyz'[i % 3:]} {i % 256} {7 * i} {short(-i)} {t + 100}" for t in range(4)]
expected += ["early -1 -2 q 3 -4 -5 -6"]
expected += ["loops n=?", "the value at the function's entry, needed for '$n' here, was not recorded"]
# The child has no record of calls that its parent has made.
expected += [f"forks n={N:#x} m=0xc", str(12 * N)]
expected += ["forks n=? m=?", "the value at the function's entry, needed for '$n' here, was not recorded"]
expected += ["recursion 10003 0"]


# As it is, and where the same functions' returns are probed.
for more in ["", 'probe process.function("dies_early").return, process.function("tail_*").return, '
                 'process.function("recurse").return { }\n']:
    result = spile("-e", more + printed, "-c", f"{program(VARIANT)} {N}").expect(status=0)
    lines = collections.Counter(result.out.splitlines())
    wanted = collections.Counter(["done", *expected])
    expect_true(lines == wanted, f"too many: {lines - wanted}\nmissing: {wanted - lines}\n{result.err}")

# A call that began before spile came: a clear error for its own variables, everything for later calls.
server = start(program(VARIANT), 7, 30, ready="lasting")
script = rf"""global n
probe {at('lasting', 'still_in')} {{ println($$parms); try {{ println($n) }} catch (m) {{ println(m) }} }}
probe {at('dies_early', 'after_clobber')} {{ if ($g != $a * 2 || $b != -$a || $e != $a << 40) error("wrong"); if (n++ > 20) exit() }}"""
result = spile("-x", server.pid, "-e", script).expect(status=0)
expect_true("n=? seconds=" in result.out, str(result))
expect_true("the value at the function's entry, needed for '$n' here, was not recorded" in result.out, str(result))
result = spile("-x", server.pid, "-e", f"probe {at('lasting', 'still_in')} {{ println($n) }}")
expect(result.status, 1, str(result))
expect_true("near '$n'" in result.err and "was not recorded" in result.err, str(result))
server.kill()
