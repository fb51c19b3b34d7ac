# What changes a traced program: memory, signals, time; only with -g, and a bad address is a script error.
from spiletest import *

script = r"""
probe process.function("bar") {
  printf("%d %d\n", $p->value, user_long(&$p->value))
  set_user_long(&$p->value, 1000)
  set_user_int(&$p->numbers[2], -5)
  try { set_user_char(8, 1) } catch (why) { println(substr(why, 0, 18)) }
  try { set_user_string(8, "text") } catch { println("caught") }
  begun = gettimeofday_us()
  mdelay(3)
  printf("%d\n", gettimeofday_us() - begun >= 3000)
}
probe process.function("bar").return { printf("bar gives %d\n", returnval()) }
function half() { return returnval() / 2 }
probe process.function("bar").return { printf("half of it is %d\n", half()) }
"""
command = f"{program('calls')} 1"
spile("-e", script, "-c", command).expect(status=1, err_match="'set_user_long' changes the traced program, which needs guru mode")
result = spile("-g", "-e", script, "-c", command, "-o", "/dev/stderr").expect(status=0, out_match=r"^bar 1015$")
expect(result.err, """10 10
write fault at 0x8
caught
1
bar gives 1015
half of it is 507
""")
spile("-g", "-e", 'probe process.function("bar") { raise(9) println("never") }', "-c", command, "-o", "/dev/stderr").expect(
    status=1, out="", err_match=r"^WARNING: Child process exited with signal 9 \(Killed\)$")
