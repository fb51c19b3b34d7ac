# What the language raises in a handler is followed by what to do about it; what a script raises itself is not.
from spiletest import *

for body, message, hint in [
    ("println(user_string(8))", "read fault at 0x8", r"nothing is there or, .* not loaded yet; to go on: try \{"),
    ("println(kernel_long(8))", "kernel read fault at 0x8", r"or user_string\(address, .\?.\)"),
    ("for (i = 0; i < 3000; i++) a[i] = i", "Array overflow, check MAXMAPENTRIES", "-DMAXMAPENTRIES=N, or `global name"),
    ("for (i = 0; i < 3; i++) b[i] = i", r"Array overflow, check size limit \(2\)", "another size in its declaration"),
    ("for (i = 0; i < 9000000; i++) i += n", "MAXACTION exceeded", "-DMAXACTION=N"),
    ("println(f(50))", "MAXNESTING exceeded", "-DMAXNESTING=N"),
    ("println(@avg(s))", "empty aggregate", r"ask for @count\(...\) first"),
]:
    script = (f"global a, b[2], n, s function f(n) {{ return n ? f(n - 1) : 0 }} probe begin {{ {body}\nexit() }} "
              f"probe never {{ s <<< 1 a[0] = 1 b[0] = 1 n = 1 }}")
    spile("-g", "-DMAXACTION=50000", "-e", script).expect(status=1,
                                                          err_match=rf"^ERROR: {message}.*\n.*\n.*\^.*\n  hint: .*{hint}")

for body in ('error("read fault at 8")', "println(1 / 0)"):
    expect("hint:" not in spile("-e", f"probe begin {{ {body} exit() }}").expect(status=1, err_match="^ERROR: ").err, True)
