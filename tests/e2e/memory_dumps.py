# %m and %M: the memory of the program, as it is and in hexadecimal; %#c.
# variants: process controller
from spiletest import *

if VARIANT == "process":
    spile("-e", r"""
    function dump:string(p:long, n:long) { return sprintf("%.*M", n, p) }
    probe process.function("greet") {
      printf("%m|%.5m|%#.5m|%10.3m|%-10.3m|\n", $name, $name, $name, $name, $name)
      printf("%M|%.*M|%10.2M|%-10.2M|%*.*M|%.0M|\n", $name, 6, $name, $name, $name, 7, 2, $name, $name)
      println(dump($name, 3), sprintf(" %.3m %.3M %d", $name, $name, 5))
      printf("%.*M\n", -5, $name)
      try { printf("%.9000M", $name) } catch (m) { println(m) }
      try { printf("lost %d %.8m", 5, 1) } catch (m) { println(m) }
      try { println(dump(0x10, 4)) } catch (m) { println(m) }
      for (i = 0; i < 100; i++) n += strlen(sprintf("%.500m", $name - 200))
      printf("%d %.8M\n", n > 0, 3)
    }""", "-c", f"{program('calls')} 1", "-o", "/dev/stderr").expect(status=1,
                                                                     err_match=r"""^w\|world\|world\|       wor\|wor       \|
77\|776f726c6400\|      776f\|776f      \|   776f\|\|
776f72 wor 776f72 5
77
can't print 9000 bytes of memory at once: at most 8192
read fault at 0x1
read fault at 0x10
ERROR: read fault at 0x3 near 'printf' at <input>:12:7$""")
else:
    spile("-e", r"""probe begin {
      try { printf("%m", 0x1000) } catch (m) { println(m) }
      try { println(sprintf("%.4M", 0)) } catch (m) { println(m) }
      printf("[%#c%#c%#c%c%#5c%-#6c%#c]\n", 10, 65, 200, 66, 0, 39, 92)
      printf("%.8m\n", 1)
    }""").expect(status=1, out="read fault at 0x1000\nread fault at 0x0\n[\\nA\\310B \\000\\'    \\\\]\n",
                 err_match=r"^ERROR: read fault at 0x1 near 'printf' at <input>:5:7$")
