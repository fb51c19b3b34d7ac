# Without debug information: arguments by their number.
from spiletest import *

spile("-e", r"""
probe process.function("eight") { printf("eight %d %d %d %d\n", int_arg(1), long_arg(6), long_arg(7), int_arg(8)) }
probe process.function("greet") { printf("greet %s\n", user_string(pointer_arg(1))) }
""", "-c", f"{program('calls_stripped')} 10", "-o", "/dev/stderr").expect(err="eight 1 6 7 8\ngreet world\n")
