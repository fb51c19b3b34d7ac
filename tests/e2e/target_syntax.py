# Target syntax against what the program has, unoptimized and optimized: members, bit-fields, arrays, casts,
# pretty-printing; and writes in guru mode, which the program itself then prints.
# variants: values values_O0
from spiletest import *

values = program(VARIANT)
done = spile("-e", r"""probe process.function("visit") {
  if ($a > 0) next
  println($n$); println($n$$); println($$parms$)
  printdln(" ", $a, $n->table[1][0], $n->flags, $n->low, $n->u2, $n->next->value, $n->color, $n->letter, $n->yes)
  p = $n; printdln(" ", p->in->x, user_string(p->label), @cast(p, "struct node")->numbers[2])
  printdln(" ", &$n->numbers[1] - &$n->numbers[0], $n->in->name$, @var("hidden_global"), @var("counter@values.c"))
  println(@cast($n, "struct timeval", "<sys/time.h>")->tv_sec & 0xffffffff)
  printdln(" ", @uderef(4, $n), @uregister(5) == $a, @defined($nope), @defined($n->nope), @choose_defined($nope, 5))
}
""", "-c", values, "-o", "/dev/stderr")
whole = ("{.value=10, .flags=5, .low=-3, .in=%s, .next=PTR, .label=\"hello\", .color=GREEN, {.u1=77, .u2=77}, "
         ".numbers=%s, .letter='q', .yes=1, .table=%s}")
flat = whole % ("{...}", "[...]", "[...]")
deep = whole % ('{.x=42, .name="inn"}', "[1, 2, 3]", "[[1, 2], [3, 4]]")
expect(re.sub("0x[0-9a-f]+", "PTR", done.err), f"""{flat}
{deep}
a=0 n={flat} text="text"
0 3 5 -3 77 2 5 113 1
42 hello 3
4 "inn" 3 7
10
10 1 0 0 5
""", "what is read")

spile("-g", "-e", r"""probe process.function("visit") {
  $a = 40; $n->value = 1000; $n->low = -2; $n->numbers[1]++; $n->numbers[1] += $a; @var("counter") = 50
}
probe process.function("result").return { $return = $return + 100 }
""", "-c", values).expect(out="""\
visit 123 1123 43 -2 text
visit 123 1123 84 -2 text
visit 123 1123 125 -2 text
sum 369 result 107 counter 132
""", err="")

for script, message in [("$n->vlaue", "did you mean 'value'"), ("$m", r"no variable '\$m' is visible here"),
                        ("$n->in", "a whole 'struct inner'"), ("$a->x", "not a struct or union"),
                        ("$n->value[1]", "can't be indexed"), ('@cast($n, "struct nod")->x', "has no type 'struct nod'"),
                        ('@cast($n, "struct tm", "<tiem.h>")->x', "'tiem.h' file not found"),
                        ('@cast($n, "struct timeva", "<time.h>")->x', "no type 'struct timeva' in <time.h>"),
                        ('@var("couter")', "no global variable 'couter'"), ("@uderef(3, $n)", "must be 1, 2, 4 or 8"),
                        ("@kderef(4, $n)", "of the kernel"), ("@uregister(77)", "0 to 15"),
                        ("$n->value = 3", "needs guru mode"), ("$return", "only known in .return probes")]:
    spile("-p2", "-e", f'probe process.function("visit") {{ x = {script}; println(x) }}', "-c", values).expect(
        status=1, err_match=message)
