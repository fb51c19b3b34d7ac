# Floating-point parameters and results, which are in vector registers: their bits, for the functions of the library.
# variants: calls calls_O0 calls_static calls_gcc
from spiletest import *

result = spile("-e", r"""
probe process.function("mixed") { printf("in %s %d\n", fp_to_string($x, 3), $a) }
probe process.function("mixed").return { printf("out %s %s\n", fp_to_string($return, 3), fp_to_string($x, 3)) }
probe process.function("mixed").return { if (fp_lt($return, string_to_fp("4.6"))) println("less") }
""", "-c", f"{program(VARIANT)} 10", "-o", "/dev/stderr").expect(status=0)
expect(result.err, "in 1.500 3\nout 4.500 1.500\nless\n")
expect_match(r"^mixed 4\.5$", result.out, "the program's own output")
# The registers themselves stay as they are, whatever a handler does; and they can't be written to.
spile("-e", r"""global n, s probe process.function("*") { n++; s = sprintf("%s %d", ppfunc(), n) } """
            r"""probe process.function("*").return { n-- }""",
      "-c", f"{program(VARIANT)} 10").expect(out_match=r"^mixed 4\.5$")
spile("-g", "-p2", "-e", 'probe process.function("mixed").return { $return = 0 }', "-c", program(VARIANT)).expect(
    status=1, err_match="is in a register that can't be written to")
