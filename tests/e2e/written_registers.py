# Guru mode: parameters and results that an optimized program keeps in registers, and arrays written by embedded C.
from spiletest import *

command = f"{program('calls')} 10"  # -O2
result = spile("-g", "-e", r"""
probe process.function("foo") { $arg += 100  sum += $arg  if ($arg == 109) println(sum) }
probe process.function("eight").return { $return = 8 }
global sum
""", "-c", command, "-o", "/dev/stderr").expect(err="1045\n")
expect_match(r"^foo 3145$", result.out, "the program's own output")  # 3 * (45 + 1000) + 10
expect_match(r"^eight 8$", result.out, "the program's own output")

spile("-g", "-e", r"""
global small[2], ring%[2], words
function put(k:long) %{ /* pragma:write:small */ STAP_GLOBAL_SET_small(STAP_ARG_k, 1); %}
function roll(k:long) %{ /* pragma:write:ring */ STAP_GLOBAL_SET_ring(STAP_ARG_k, STAP_ARG_k); %}
function word(k:long) %{ /* pragma:write:words */ STAP_GLOBAL_SET_words("a", STAP_ARG_k); %}
probe begin {
  small[0] = 0; delete small; ring[0] = 0; words["b"] = 1
  put(1) put(2) put(2)
  try { put(3) println("no") } catch (m) { println(m) }
  for (i = 1; i < 6; i++) roll(i)
  foreach (k in ring) println(k)
  word(7) println(words["a"], words["b"], [3] in small)
  put(4)
}""").expect(status=1, out="Array overflow, check size limit (2)\n4\n5\n710\n",
             err_match="^ERROR: Array overflow, check size limit .2.")
