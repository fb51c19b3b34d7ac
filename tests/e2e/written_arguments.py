# Arguments that a script changes where a function is entered, in registers and on the stack, and results (-g); and stacks from
# registers that the script gives.
from spiletest import *

calls = f"{program('calls')} 10"
result = spile("-g", "-e", r"""
function more(by:long) { set_long_arg(1, long_arg(1) + by) }
probe process.function("foo") { set_int_arg(1, int_arg(1) + 60)  more(40)  sum += int_arg(1)  if (int_arg(1) == 109) println(sum)
  }
probe process.function("eight") { set_u64_arg(8, u64_arg(8) + 1000)  println(set_uint_arg(2, uint_arg(2)), int_arg(8)) }
global sum
""", "-c", calls, "-o", "/dev/stderr").expect(err="1045\n21008\n")
expect_match(r"^foo 3145$", result.out, "the program's own output")  # 3 * (45 + 1000) + 10
expect_match(r"^eight 8204$", result.out, "the program's own output")

# A result, in the probe and in a function of the script, which later handlers see.
result = spile("-g", "-e", r"""
function more() { set_returnval(returnval() + 1) }
probe process.function("bar").return { set_returnval(7)  println(returnval())  more() }
probe process.function("bar").return { println(returnval()) }
""", "-c", f"{program('calls')} 1", "-o", "/dev/stderr").expect(err="7\n8\n", out_match=r"^bar 8$")

for probe, why in {
        'process.function("foo") { set_returnval(1) }': "'set_returnval' needs a .return probe",
        'process.function("bar") { f() } function f() { set_returnval(2) }': "'set_returnval' needs a .return probe",
        'begin { set_returnval(1) }': "'set_returnval' needs a traced program",
        'kernel.trace("sched:sched_switch") { set_returnval(1) }': "'set_returnval' in a handler that runs in the kernel: the "
                                                                   "kernel does not let handlers change registers",
        'process.function("foo").return { set_int_arg(1, 1) }': "'set_int_arg' needs a probe at a function's entry",
        'process.function("foo") { set_int_arg(pid(), 1) }': "'set_int_arg' needs the argument's number as a literal",
        'process.function("foo") { set_int_arg(0, 1) }': "arguments are numbered from 1",
        'begin { set_pointer_arg(1, 1) }': "'set_pointer_arg' needs a traced program",
        'kernel.trace("sched:sched_switch") { set_int_arg(1, 1) }': "'set_int_arg' in a handler that runs in the kernel: the "
                                                                    "kernel does not let handlers change registers"}.items():
    spile("-g", "-p2", "-e", f"probe {probe}", "-c", calls).expect(status=1, err_match=f"error: {why}")
spile("-p2", "-e", 'probe process.function("foo").return { set_returnval(1) }', "-c",
      calls).expect(status=1, err_match="'set_returnval' changes the traced program, which needs guru mode")
spile("-p2", "-e", 'probe process.function("foo") { set_int_arg(1, 1) }', "-c",
      calls).expect(status=1, err_match="'set_int_arg' changes the traced program, which needs guru mode")

# From the registers of the place the stack is that of the place; from those of the caller what is left of it.
result = spile("-e", r"""probe process.function("foo") {
  print_ubacktrace()  println("--")  print_ubacktrace(register("rip"), register("rsp"), register("rbp"))
  println("--")  print_ubacktrace(ustack(1), register("rsp") + 8, register("rbp"))
  println("--")  print_ubacktrace_fileline()  println("--")  print_ubacktrace_fileline(ustack(1), register("rsp") + 8,
    register("rbp"))
  println("--")  print_ubacktrace(ustack(1), 8, 8)  exit() }""", "-c", calls, "-o", "/dev/stderr").expect(status=0)
whole, same, rest, lines, lines_of_rest, broken = ([*part.strip("\n").split("\n")] for part in result.err.split("--\n"))
expect([*map(len, (same, rest, lines_of_rest, broken))], [len(whole), len(whole) - 1, len(lines) - 1, 1])
expect(same, whole)
expect(rest, whole[1:])
expect(lines_of_rest, lines[1:])
expect(broken, whole[1:2])
