# Registers and arguments: by computed names and numbers, in script functions, and where there are none.
# variants: process controller
from spiletest import *

IN_PROCESS = r"""
function named(n:string) { return register(n) }
function numbered:long(n:long) { return long_arg(n) }
function inner() { return numbered(8) + returned() }
function returned() { try { return returnval() } catch { return 1000 } }
probe process.function("eight") {
  for (i = 1; i <= 8; i++) total = total * 10 + long_arg(i)
  printf("%d %d %d %d\n", total, numbered(1), numbered(7), inner())
  printf("%d %d %d\n", named("rdi") == long_arg(1), named("e" . "si"), u_register(sprint("dl")) == (named("rdx") & 0xff))
  printf("%d %d\n", named("rip") == uaddr(), named("rsp") == register("rsp"))
  try { println(register("xyz")) } catch (m) { println(m) }
  try { println(named("")) } catch (m) { println(m) }
  try { println(int_arg(0)) } catch (m) { println(m) }
  try { println(numbered(-3)) } catch (m) { println(m) }
  try { println(returnval()) } catch (m) { println(m) }
}
probe process.function("eight").return {
  printf("returns %d %d %d\n", returnval() == returned(), named("rax") == returnval(), @entry(numbered(6)))
  try { println(long_arg(1)) } catch (m) { println(m) }
  try { println(numbered(1)) } catch (m) { println(m) }
}
"""
if VARIANT == "process":
    spile("-e", IN_PROCESS, "-c", f"{program('calls_stripped')} 10", "-o", "/dev/stderr").expect(err="""12345678 1 7 1008
1 2 1
1 1
Unknown register: xyz
Unknown register: 
arguments are numbered from 1, not 0
arguments are numbered from 1, not -3
the returned value is only known in .return probes
returns 1 1 6
cannot access function args in this context
cannot access function args in this context
""")
else:
    spile("-e", r"""
    function named(n:string) { return u_register(n) }
    function numbered(n) { return u32_arg(n) }
    probe begin {
      try { println(register("rax")) } catch (m) { println(m) }
      try { println(named("rax")) } catch (m) { println(m) }
      try { println(pointer_arg(2)) } catch (m) { println(m) }
      try { println(numbered(2)) } catch (m) { println(m) }
      try { println(returnval()) } catch (m) { println(m) }
    }
    probe timer.ms(1) { println(s64_arg(1)) }
    probe end { println("end") }
    probe error { println("error probe") }""").expect(status=1, out="""cannot access CPU registers in this context
cannot access CPU registers in this context
cannot access function args in this context
cannot access function args in this context
the returned value is only known in .return probes
error probe
""", err_match=r"^ERROR: cannot access function args in this context near 's64_arg' at .*:11:33$")
