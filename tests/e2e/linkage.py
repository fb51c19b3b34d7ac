# variants: calls calls_static calls_nopie calls_static_pie calls_stripped calls_endbr calls_O0 calls_no_frame_pointer calls_dwarf4 calls_gcc calls_musl
# However a program was compiled and linked: entries and returns of all its functions are seen, its results are right.
from spiletest import *

result = spile("-e", """
global entries, returns
probe process.function("foo"), process.function("bar"), process.function("eight"), process.function("leaf"),
      process.function("fibonacci"), process.function("greet"), process.function("variadic"),
      process.function("empty") { entries[ppfunc()]++ }
probe process.function("foo").return, process.function("eight").return, process.function("fibonacci").return,
      process.function("variadic").return { returns[ppfunc()]++ }
probe end {
  foreach (f+ in entries) printf("entry %s %d\\n", f, entries[f])
  foreach (f+ in returns) printf("return %s %d\\n", f, returns[f])
}""", "-c", f"{program(VARIANT)} 1000")
own, seen = result.out.split("entry bar", 1)
expect(own, "foo 1499500\nbar 33\neight 204\nleaf 42\nfibonacci 610\ngreet 5\nmixed 4.5\nvariadic 6\ncountdown 42\n")
result.expect(out=own + "entry bar" + """ 1
entry eight 1
entry empty 1
entry fibonacci 1973
entry foo 1000
entry greet 1
entry leaf 1
entry variadic 1
return eight 1
return fibonacci 1973
return foo 1000
return variadic 1
""")
