# Members of virtual base classes, which each kind of object has somewhere else, are printed and read as those of other bases.
# variants: gcc_O0 gcc_O2 clang_O0 clang_O2 clang_dwarf4
from spiletest import *

compiler, kind = VARIANT.split("_")
compiler = installed("g++" if compiler == "gcc" else "clang++-19")
folder = temporary_directory()
(folder / "bases.cpp").write_text("""#include <cstdio>
#include <string>
struct Base { int base = 1; const char* name = "b"; virtual ~Base() {} };
struct Left : virtual Base { int left = 2; };
struct Right : virtual Base { int right = 3; };
struct Both : Left, Right { int both = 4; };
struct Holder { int first = 5; Both within; };
struct Empty {};
struct Odd : virtual Empty { int odd = 6; };
__attribute__((noinline)) void probed(Left* left, Both* both, Right& part, Holder* holder, Odd* odd) {
  asm volatile("" : : "r"(left), "r"(both), "r"(&part), "r"(holder), "r"(odd) : "memory");
}
int main() { Left left; left.base = 11; Both both; both.base = 12; Holder holder; holder.within.base = 13; Odd odd;
  probed(&left, &both, both, &holder, &odd); }
""")
PATH = folder / "bases"
flags = {"O0": ["-O0"], "O2": ["-O2"], "dwarf4": ["-O1", "-gdwarf-4"]}[kind]
subprocess.run([compiler, "-g", *flags, "-o", PATH, folder / "bases.cpp"], check=True)
out = spile("-e", """probe process.function("probed") {
  println($left$$) println($both$$) println($part$) println($holder$$) println($odd$$)
  println($left->base, " ", $both->base, " ", $part->base, " ", $holder->within->base, " ", $both->Base->base, " ",
    $both->Left->left, " ", $both->name$)
}""", "-c", PATH, "-o", "/dev/stderr").expect(status=0).err.splitlines()
expect(out[0], '{.left=2, .base=11, .name="b"}')
expect(out[1], '{.left=2, .right=3, .both=4, .base=12, .name="b"}')
expect_match(r'^&?\{\.right=3, \.base=12, \.name="b"\}$', out[2])
expect(out[3], '{.first=5, .within={.left=2, .right=3, .both=4, .base=13, .name="b"}}')
expect(out[4], "{.odd=6}")
expect(out[5], '11 12 12 13 12 2 "b"')
spile("-e", 'probe process.function("probed") { println($both->bass) }', "-c",
      PATH).expect(status=1, err_match="has no member 'bass'")
# An object that has been overwritten: the place of its base leads nowhere.
spile("-g", "-e", 'probe process.function("probed") { println(@cast(16, "Both")->base) }', "-c",
      PATH).expect(status=1, err_match="read fault at 0x10")
