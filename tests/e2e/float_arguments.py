# float_arg(n), double_arg(n) and register("xmm0"): floating-point arguments and results without debug information.
# variants: process controller kernel
from spiletest import *

PROGRAM = program("float_arguments")
if VARIANT == "process":
    result = spile("-e", r"""
    function d(n:long) { return fp_to_string(double_arg(n), 2) }
    function low() { return register("xmm1") }
    probe process.function("among") {
      printf("%d %s %s %d %s", int_arg(1), fp_to_string(double_arg(1), 2), user_string(pointer_arg(2)), long_arg(3),
             fp_to_string(float_arg(2), 2))
      printf(" %d %d\n", double_arg(3) == string_to_fp("1e100"), low() == u_register("%xmm1"))
    }
    probe process.function("nine") {
      for (i = 1; i <= 8; i++) printf("%s ", d(i))
      printf("%d\n", register("xmm7") == double_arg(8))
      try { println(double_arg(9)) } catch (m) { println(m) }
      try { println(d(0)) } catch (m) { println(m) }
      try { println(register("xmm16")) } catch (m) { println(m) }
    }
    probe process.function("among").return {
      printf("%d %s\n", register("xmm0") == string_to_fp("1e100"), @entry(d(1)))
      try { println(double_arg(1)) } catch (m) { println(m) }
    }
    probe process.function("nine").return { println(fp_to_string(fp32_to_fp64(register("xmm0") & 0xffffffff), 2)) }
    """, "-c", PROGRAM, "-o", "/dev/stderr").expect(status=0, out="1e+100 45.5\n")
    expect(result.err, """1 2.50 A 3 -0.75 1 1
1 2.50
cannot access function args in this context
1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.50 1
floating-point arguments are numbered from 1 to 8, not 9
floating-point arguments are numbered from 1 to 8, not 0
Unknown register: xmm16
45.50
""")
elif VARIANT == "controller":
    spile("-e", r"""
    function named() { return register("xmm0") }
    function numbered(n:long) { return double_arg(n) }
    probe begin {
      try { println(register("xmm0")) } catch (m) { println(m) }
      try { println(named()) } catch (m) { println(m) }
      try { println(float_arg(1)) } catch (m) { println(m) }
      try { println(numbered(2)) } catch (m) { println(m) }
      exit()
    }""").expect(status=0, out="cannot access CPU registers in this context\n" * 2 +
                             "cannot access function args in this context\n" * 2)
else:
    point = f'probe process("{PROGRAM}").function("among")'
    for handler, message in (("println(double_arg(1))", r"'double_arg' is not available in probes that run in the kernel"),
                             ("println(float_arg(1))", r"'float_arg' is not available in probes that run in the kernel"),
                             ('println(register("xmm0"))', r"register 'xmm0' can't be read in handlers that run in the kernel")):
        for arguments in ((), ("--runtime=bpf", "-c", PROGRAM)):
            spile("-p2", "-e", f"{point} {{ {handler} }}", *arguments).expect(
                status=1, err_match=f"{message}(.|\n)*hint: with -c or -x, --runtime=inproc runs them in the process")
