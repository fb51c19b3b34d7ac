# Probe points inside functions, marks and PLT entries: hits and variables as the program has them.
from spiletest import *

plain, optimized = program("values_O0"), program("values")
spile("-e", r"""probe process.statement("visit@values.c:49") { printdln(" ", "line 49", $a, $local, user_string($text)) }
probe process.statement("visit@values.c+4") { printdln(" ", "fourth line", $local) }
probe process.statement("*@values.c:40-41"), process.statement("visit@values.c:55").nearest { next }
probe process.function("twice") { printdln(" ", "twice", $q) }
probe process.plt("printf") { println("plt " . $$name) }
probe process.mark("step") { printf("%s.%s %d %d %d\n", $$provider, $$name, $arg1, $arg2, $arg3) }
probe process.provider("sp*").mark("s*") { println($$vars) }
""", "-c", plain, "-o", "/dev/stderr").expect(err="".join(
    f"""twice {i}
line 49 {i - 1} {3 * i} text
fourth line {3 * i}
spile.step -{3 * i} {3000 * i} 3
arg1={2 ** 64 - 3 * i:#x} arg2={3000 * i:#x} arg3=0x3
plt printf
""" for i in (1, 2, 3)) + "plt printf\n")

# Optimized: what was inlined is found wherever it went, and only `.call` leaves it out.
spile("-e", """probe process.function("twice").inline { printdln(" ", "q", $q) }
probe process.function("main").callee("visit") { printdln(" ", $a, $n->value) }
""", "-c", optimized, "-o", "/dev/stderr").expect(err="0 10\nq 1\n1 13\nq 2\n2 19\nq 3\n")

for point, message in [('statement("visit@values.c:1")', "no line records for values.c:1"),
                       ('statement("vist@values.c:49")', "no code of function 'vist'"),
                       ('statement(0x1)', "0x1 is not in the code"), ('mark("stp")', "did you mean 'step'"),
                       ('provider("spile")', "'mark' is missing"), ('plt("prinft")', "did you mean 'printf'"),
                       ('function("visit").inline', "is not inlined anywhere"), ('function("twice").call', "no function"),
                       ('function("visit").label("x")', "no label 'x'"), ('function("visit@values.c:3x")', "malformed line"),
                       ('function("visit").inline.return', "can't follow"),
                       ('statement("visit").return', "unknown probe point")]:
    spile("-p2", "-e", f"probe process.{point} {{ next }}", "-c", optimized).expect(status=1, err_match=message)

# A line whose place is where an inlined call begins is the caller's, as its source is; a line of an inlined function is found by
# the function that it was inlined into, too.
lines = temporary_directory() / "lines.c"
lines.write_text("""static int scale;
static inline __attribute__((always_inline)) int f(int x) {
  int y = x * scale;
  return y + 3;
}
static inline __attribute__((always_inline)) int g(int x) {
  return f(x) ^ 5;
}
int main(int argc, char** argv) {
  scale = argc + 6;
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    sum += f(i);
    sum ^= g(sum);
  }
  return sum == 12345;
}
""")
subprocess.run([installed("gcc"), "-O2", "-g", lines, "-o", lines.with_suffix("")], check=True)
points = ["main@lines.c:13", "main@lines.c:14", "*@lines.c:14", "g@lines.c:7", "main@lines.c:7"]
probes = "\n".join(f'probe process.statement("{point}") {{ n[{i}]++ }}' for i, point in enumerate(points))
spile("-e", f"global n\n{probes}\nprobe end {{ foreach (i+ in n) print(i, \":\", n[i], \" \") println() }}",
      "-c", lines.with_suffix("")).expect(status=0, out="0:10 1:10 2:10 3:10 4:10 \n")

# Operands with symbols and numbers before and behind them, with debug information and without.
marked = temporary_directory() / "marked.c"
marked.write_text("""long table[4] = {11, 22, 33, 44};
#define MARK(name, operands) __asm__ volatile("990: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n" \\
  ".4byte 992f-991f, 994f-993f, 3\\n991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n993: .8byte 990b, _.stapsdt.base, 0\\n" \\
  ".asciz \\"marked\\"\\n.asciz \\"" name "\\"\\n.asciz \\"" operands "\\"\\n994: .balign 4\\n.popsection\\n" \\
  ".pushsection .stapsdt.base,\\"aG\\",\\"progbits\\",.stapsdt.base,comdat\\n.weak _.stapsdt.base\\n" \\
  ".hidden _.stapsdt.base\\n_.stapsdt.base: .space 1\\n.size _.stapsdt.base, 1\\n.popsection\\n" ::: "memory")
int main(void) {
  MARK("sums", "-8@8+table(%%rip) -8@table+16(%%rip) -8@-8+table+32(%%rip) -8@16+table-16(%%rip)");
  return table[0] != 11;
}
""")
for words in (["-g"], ["-fno-pie", "-no-pie"]):
    subprocess.run([installed("gcc"), "-O1", *words, marked, "-o", marked.with_suffix("")], check=True)
    spile("-e", 'probe process.mark("sums") { printdln(" ", $arg1, $arg2, $arg3, $arg4) }', "-c", marked.with_suffix(""), "-o",
          "/dev/stderr").expect(status=0, err="22 33 44 11\n")
