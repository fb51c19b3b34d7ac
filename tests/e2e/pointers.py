# The type of what $n points to goes with its value: through variables, functions, arrays, keys and @entry; and overloads.
from spiletest import *

done = spile("-e", r"""
global saved, seen
function next_of(p) { return p->next }
function pick(p, n):1 { if (n) next; return p->value }
function pick(p, n):2 { return next_of(p)->value }
probe process.function("visit") {
  if ($a > 0) next
  p = q = $n; saved["n"] = q; seen[q->next] = 1
  printdln(" ", p->value, next_of(p)->value, saved["n"]->next->value, pick(p, 0), pick(q, 1))
  foreach (key in seen) println(key->value)
}
probe process.function("visit").return { if (@entry($a) > 0) next; h = @entry($n); println(h->next->value) }
""", "-c", program("values"), "-o", "/dev/stderr")
expect(done.err, "10 2 2 10 2\n2\n2\n", "what was reached")

for script, message in [
    ("p = $a; println(p->value)", "the type this value points to is unknown"),
    ("p = 5; println(p->value)", "the type this value points to is unknown"),
    ("p = $n; println(p->vlaue)", "did you mean 'value'"),
]:
    spile("-e", 'probe process.function("visit") { %s }' % script, "-c", program("values")).expect(status=1, err_match=message)
