# The kernel's stack and symbols where no kernel is probed: an empty stack, and addresses that are not known.
# variants: process controller
from spiletest import *

point = {"process": 'process.function("eight")', "controller": "begin"}[VARIANT]
command = ["-c", f"{program('calls')} 10", "-o", "/dev/stderr"] if VARIANT == "process" else []
result = spile("-e", r"""probe POINT {
  print_backtrace()
  println("[", backtrace(), "][", callers(3), "][", sprint_backtrace(), "]", stack(1), addr() == uaddr(), addr() != 0)
  print_syms("0xffffffff81000000 12")
  print_stack("0x3")
  print(sprint_syms("0x1 0x2"), sprint_stack("0x3"))
  println(symname(0x1234), " ", symdata(-1), " ", symfile(5), " ", symline(6), " ", symfileline(7))
  try { println(modname(8)) } catch (m) { println(m) }
  exit()
}""".replace("POINT", point), *command)
wanted = f"""<no kernel backtrace>
[][][]01{int(VARIANT == "process")}
 0xffffffff81000000
 0x12
 0x3
0x1
0x2
0x3
0x1234 0xffffffffffffffff 0x5 0x6 0x7
no module has the address 0x8
"""
result.expect(**{"err" if command else "out": wanted})
