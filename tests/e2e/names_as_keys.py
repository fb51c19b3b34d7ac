# An array by ppfunc() or pp(), whose texts have their hashes with them, has the elements of equal texts that were made otherwise;
# a text longer than a string can be is cut alike.
from spiletest import *

p = program("narrow")
for limit in (), ("-D", "MAXSTRINGLEN=16"):
    out = spile(*limit, "-o", "/dev/stderr", "-e", r"""
global a, copies, both
probe process.function("minus_*").return, process.function("half") {
  name = ppfunc(); point = pp()
  a[ppfunc()]++; copies[name]++; both[ppfunc()]++; both[name]++; both[pp()]++; both[point]++
  if (!(ppfunc() in a) || a[ppfunc()] != a[name] || both[pp()] != both[point]) error("another element")
}
probe end {
  foreach (k in a) printf("%s %d\n", k, a[k] == copies[k] && both[k] == 2 * a[k] ? a[k] : -1)
  foreach (k in both) if (both[k] % 2) printf("%s once\n", k)
  foreach (k in both) n++
  println(n) }""", "-c", p).expect(status=0).err.split()
    expect(out, "minus_int 2 minus_short 1 minus_char 1 minus_unsigned 1 minus_long 1 half 1".split() + ["7" if limit else "12"])
