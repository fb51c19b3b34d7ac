# Classes that g++ passes and returns by hidden reference, of which it says nothing in debug information; and types that take
# vector registers, or two registers, in front of a parameter. The program prints what it passed; -O0 reads it where the ABI says.
from spiletest import *

SOURCE = r"""
#include <cstdio>
#include <memory>
#include <complex.h>
#define PROBED __attribute__((noipa))
struct Plain { int a; };
struct Defaulted { int a; Defaulted(int x) : a(x) {} Defaulted(const Defaulted &) = default; };
struct Copied { int a; Copied(int x) : a(x) {} Copied(const Copied &o) : a(o.a) {} };
struct Destroyed { int a; Destroyed(int x) : a(x) {} ~Destroyed() { a = 0; } };
struct Moved { int a; Moved(int x) : a(x) {} Moved(Moved &&o) : a(o.a) {} };
struct Virtual { int a; Virtual(int x) : a(x) {} virtual int get() { return a; } };
struct Has { Copied inner; int a; Has(int x) : inner(x), a(x) {} };
struct Is : Destroyed { Is(int x) : Destroyed(x) {} };
#define MAKE(T, f) PROBED T f(int x) { return T(x); }
PROBED Plain plain(int x) { return Plain{x}; }
MAKE(Defaulted, defaulted) MAKE(Copied, copied) MAKE(Destroyed, destroyed) MAKE(Moved, moved) MAKE(Virtual,
  with_virtual) MAKE(Has, has) MAKE(Is, is)
PROBED std::unique_ptr<int> unique(int x) { return std::make_unique<int>(x); }
typedef double _Complex cd;
typedef float v4 __attribute__((vector_size(16)));
PROBED int after_copied(Copied c, int x) { return c.a + x; }
PROBED int after_complex(cd c, double y, int x) { return (int)__real__ c + (int)y + x; }
PROBED int after_vector(v4 v, double y, int x) { return (int)v[0] + (int)y + x; }
PROBED int after_member(int (Virtual::*f)(), int x) { return (f != nullptr) + x; }
int main() {
  plain(1), defaulted(2), copied(3), destroyed(4), moved(5), with_virtual(6), has(7), is(8), unique(9);
  cd c = {1, 2};
  v4 v = {1, 2, 3, 4};
  after_copied(Copied(1), 10), after_complex(c, 2.5, 11), after_vector(v, 2.5, 12), after_member(&Virtual::get, 13);
}
"""
SCRIPT = r"""
probe process.function("plain").return, process.function("defaulted").return, process.function("copied").return,
process.function("destroyed").return,
      process.function("moved").return, process.function("with_virtual").return, process.function("has").return,
      process.function("is").return
{ printf("%s %d %d\n", ppfunc(), @entry($x), $return->a) }
probe process.function("unique").return { printf("unique %d\n", @entry($x)) }
probe process.function("after_copied") { printf("after_copied %d %d\n", $c->a, $x) }
probe process.function("after_complex"), process.function("after_vector") { printf("%s %s %d\n", ppfunc(), fp_to_string($y, 1),
  $x) }
probe process.function("after_member") { printf("after_member %d\n", $x) }
"""
EXPECTED = """plain 1 1
defaulted 2 2
copied 3 3
destroyed 4 4
moved 5 5
with_virtual 6 6
has 7 7
is 8 8
unique 9
after_copied 1 10
after_complex 2.5 11
after_vector 2.5 12
after_member 13
"""

folder = temporary_directory()
(folder / "classes.cpp").write_text(SOURCE)
for level in ["-O0", "-O2"]:
    subprocess.run(["g++", "-g", level, "-w", "-o", "classes", "classes.cpp"], cwd=folder, check=True)
    spile("-e", SCRIPT, "-c", folder / "classes").expect(status=0, out=EXPECTED)
