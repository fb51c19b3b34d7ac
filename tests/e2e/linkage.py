# variants: calls calls_static calls_nopie calls_static_pie calls_stripped calls_endbr calls_O0 calls_no_frame_pointer
# variants: calls_dwarf4 calls_gcc calls_musl calls_Os
# variants: calls_lto calls_gold calls_one_segment calls_large calls_sections calls_separate
# However a program was compiled and linked: entries and returns of all its functions are seen, its results are right.
from spiletest import *

# The paths of programs, as they are given with -x too.
SCRIPT = """
global entries, returns
probe process("P").function("foo"), process("P").function("bar"), process("P").function("eight"), process("P").function("leaf"),
      process("P").function("fibonacci"), process("P").function("greet"), process("P").function("variadic"),
      process("P").function("empty") { entries[ppfunc()]++ }
probe process("P").function("foo").return, process("P").function("eight").return, process("P").function("fibonacci").return,
      process("P").function("variadic").return { returns[ppfunc()]++ }
probe end {
  foreach (f+ in entries) printf("entry %s %d\\n", f, entries[f])
  foreach (f+ in returns) printf("return %s %d\\n", f, returns[f])
}"""
OWN = "foo 1499500\nbar 33\neight 204\nleaf 42\nfibonacci 610\ngreet 5\nmixed 4.5\nvariadic 6\ncountdown 42\n"
SEEN = """entry bar 1
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
"""

script = SCRIPT.replace("P", program(VARIANT))
spile("-e", script, "-c", f"{program(VARIANT)} 1000").expect(out=OWN + SEEN, status=0)

target = start(program(VARIANT), 1000, 0, "wait", stdin=subprocess.PIPE)
session = Session("-v", "-e", script, "-x", target.pid).attached(target.pid)
out, _ = target.communicate(b"\n", timeout=300)
expect(out.decode(), OWN, "what the attached program writes")
expect(target.returncode, 0, "its status")
session.wait().expect(out=SEEN, status=0)
