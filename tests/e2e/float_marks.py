# Floating-point arguments of marks: their bits as those of a double, like those of variables.
from spiletest import *

result = spile("-e", r"""
probe process.mark("floats") {
  printf("%s %s %s %s\n", fp_to_string($arg1, 2), fp_to_string($arg2, 2), fp_to_string($arg3, 2), fp_to_string($arg4, 2))
}""", "-c", program("float_marks"), "-o", "/dev/stderr").expect(status=0, out="-1.5\n")
expect(result.err, "1.50 -2.25 3.00 -4.50\n")
