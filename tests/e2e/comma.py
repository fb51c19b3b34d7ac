# The comma: operands in order, the value of the last; and where it separates instead.
from spiletest import *

spile("-e", r"""
global n
function f:long(a:long, b:long) { return a * 10 + b }
function next_n() { return ++n }
probe begin {
  x = (next_n(), next_n(), next_n())
  println(x, n)
  y = 1, z = 2
  println(y, z)
  for (i = 0, j = 5; i < j; i++, j--) print(i, j, " ")
  println(f((1, 2), (3, 4)), f(5, 6))
  println((x = 7, x + 1), " ", (next_n(), "text"), " ", n)
  if ((next_n(), 0)) println("no") else println(n)
  while ((x--, x > 4)) print(x, ";")
  println()
  exit()
}""".replace("println()\n", 'println("")\n')).expect(out="33\n12\n05 14 23 2456\n8 text 4\n5\n6;5;\n")
