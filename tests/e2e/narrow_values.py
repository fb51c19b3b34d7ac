# What is narrower than a register: floats are doubles, results have the sign of their type, and what @var reads in a
# .return probe is what it is then ($x is what it was at the entry).
# variants: narrow narrow_O0
from spiletest import *

p = program(VARIANT)


def run(script, *options):
    return spile(*options, "-e", script, "-o", "/dev/stderr", "-c", p).expect(status=0)


out = run(r"""
function result() { return returnval() }
probe process.function("minus_*").return, process.function("low_byte").return, process.function("is_odd").return,
      process.function("address").return { printf("%s %d %d %d\n", ppfunc(), $return, returnval(), result()) }""").err
expect(sorted(out.splitlines()), sorted("""minus_int -5 -5 -5
minus_int 9 9 9
minus_short -6 -6 -6
minus_char -7 -7 -7
minus_unsigned 4294967295 4294967295 4294967295
low_byte 44 44 44
is_odd 1 1 1
minus_long -8 -8 -8
address 0 0 0""".splitlines()))
expect(run(r"""
function show(x) { return fp_to_string(x, 3) }
probe process.function("half") { printf("%s %s %s %s %s\n", show($x), show($p->f), show($p->d), show($p->v[1]),
  show(@var("ratio")))
  for (i = 0; i < 2; i++) println(show($p->v[i]))
  println(fp_to_string(fp_mul(string_to_fp("1e44"), $p->v[2]), 2), " ", show(fp32_to_fp64($x)), " ",
    show(@cast($p, "struct numbers")->f)) }
probe process.function("half").return { printf("%s %s %s %s\n", show($return), show($x), show(@var("ratio")),
  show(@entry(@var("ratio")))) }
""").err, "1.500 1.500 2.500 -2.250 3.250\n1.000\n-2.250\n100.05 1.500 1.500\n0.750 1.500 3.000 3.250\n")
# At the return; $calls is the entry's, as everything with a dollar.
expect(run(r"""probe process.function("half").return { println(@var("calls") - $calls, " ", @var("calls") - @entry(@var("calls")),
  " ",
  @defined(@var("calls")), " ", @var("numbers@narrow.c")->f == $numbers->f, " ", @uderef(4, &@var("calls")) - $calls) }""").err,
       "1 1 1 1 1\n")
# Written, a float is the nearest one.
out = run(r"""probe process.function("half") { @var("numbers")->f = string_to_fp("0.1"); $p->v[0] = string_to_fp("1e300")
  println(fp_to_string(@var("numbers")->f, 9), " ", fp_to_string($p->v[0], 0)) }""", "-g")
expect(out.err, "0.100000001 inf\n")
expect_match(r"3\.0000 0\.1000 9 9$", out.out)
# Arguments and registers, by their names' types.
expect(run(r"""probe process.function("minus_int") { if ($x < 0) println($x, int_arg(1), s32_arg(1), register("edi"), " ",
  uint_arg(1),
  " ", u32_arg(1), " ", u_register("edi"), " ", long_arg(1) & 0xffffffff, " ", register("dil"), u_register("dil"),
  register("di"), u_register("di"), u_register("d" . "i")) }""").err,
       "-9-9-9-9 4294967287 4294967287 4294967287 4294967287 -9247-96552765527\n")
