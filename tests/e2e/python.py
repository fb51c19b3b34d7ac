# Debian's python3.11, stripped: functions of its .dynsym.
from spiletest import *

spile("-e", """global c probe process.function("PyLong_FromLong"), process.function("PyDict_New") { c++ }
probe process.function("PyObject_Repr").return { c++ } probe end { printf("%d\\n", c > 100) }""",
      "-c", "/usr/bin/python3 -S -c 'print(sum(int(repr(i)) for i in range(1000)))'").expect(
    out="499500\n1\n", status=0)
