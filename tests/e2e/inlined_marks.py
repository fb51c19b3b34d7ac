# variants: gcc clang
# Marks in functions that are inlined two and three levels deep: each copy's hits are those of its calls, variables are
# those of the functions around the mark, innermost first. `spile marks` says which arguments handlers can't read.
import json

from spiletest import *

directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
compiler = installed({"gcc": "gcc", "clang": "clang-19"}[VARIANT])
TURNS = 12
source = directory / "marked.c"
source.write_text(r"""#define INLINED static inline __attribute__((always_inline))
#define MARK(name, operands, ...) \
  __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
    ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, _.stapsdt.base, 0\n" \
    ".asciz \"deep\"\n.asciz \"" name "\"\n.asciz \"" operands "\"\n994: .balign 4\n.popsection\n" \
    ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n" \
    :: __VA_ARGS__ : "memory")
#include <stdlib.h>
struct item { int weight; };
struct item items[4] = {{5}, {6}, {7}, {8}};
volatile int sink;
INLINED void leaf(int depth, struct item *item) {
  MARK("leaf", "-4@%0 8@%1", "r"(depth), "r"(item));
  sink = depth + item->weight;
}
INLINED void middle(int level, int argument) {
  leaf(level * 2, &items[argument & 3]);
  sink = level ^ argument;
}
INLINED void top(int number) {
  middle(number + 100, number);
  sink = number;
}
__attribute__((noinline)) void outer(int outermost) {
  top(outermost);
  MARK("end", "-4@%0", "r"(outermost));
  sink = outermost;
}
__attribute__((noinline)) void other(int outermost) {
  middle(outermost + 7, 2);
  sink = outermost;
}
int main(int argc, char **argv) {
  int turns = atoi(argv[1]);
  for (int i = 0; i < turns; i++) {
    outer(i);
    other(i);
  }
  return 0;
}
""")
script = r"""global line
probe process.mark("leaf") {
  printf("%d %d %d %d %d %d\n", $arg1, $depth, $level, $item->weight, $outermost, $argument)
  line = $$locals
}
probe process.mark("end") { if ($arg1 != $outermost) printf("%d is not %d\n", $arg1, $outermost) }
probe end { println(line) }
"""
wanted = ""
for i in range(TURNS):
    wanted += f"{2 * (i + 100)} {2 * (i + 100)} {i + 100} {5 + i % 4} {i} {i}\n"
    wanted += f"{2 * (i + 7)} {2 * (i + 7)} {i + 7} 7 {i} 2\n"
for build in ("-O2", "-O3", "-O0", "-O2 -gdwarf-4", "-O2 -gsplit-dwarf"):
    program = directory / "marked"
    subprocess.run([compiler, "-g", *build.split(), source, "-o", program], cwd=directory, check=True)
    for _ in range(2):
        result = spile("-e", script, "-c", f"{program} {TURNS}", "-o", "/dev/stderr").expect(status=0)
        hits, _, last = result.err.strip().rpartition("\n")
        expect(hits + "\n", wanted, f"{build}: values")
        expect_match(r"\bdepth=.*\blevel=.*\boutermost=", last, f"{build}: $$locals")
# Objects are printed with their types, and a name that no function around the mark has is an error.
pretty = spile("-e", 'probe process.mark("leaf") { println($item$) exit() }', "-c", f"{program} 1", "-o", "/dev/stderr")
expect_match(r"\{\.weight=\d\}", pretty.expect(status=0).err)
spile("-p2", "-e", 'probe process.mark("leaf") { println($nothing) }', "-c", program).expect(status=1, err_match=r"\$nothing")
spile("-p2", "-e", 'probe process.mark("leaf") { println($arg3) }', "-c", program).expect(status=1, err_match=r"'\$arg3'")

# What can't be read.
odd = directory / "odd.c"
odd.write_text(source.read_text().partition("#include")[0] + """int main(void) {
  MARK("odd", "-4@%%eax 8@nowhere(%%rip) 16@%%xmm0 8@%%fs:16", "r"(0));
  MARK("even", "-4@%%eax", "r"(0));
  return 0;
}
""")
subprocess.run([compiler, "-g", odd, "-o", directory / "odd"], check=True)
expect(spile("marks", directory / "odd").expect(status=0, err="").out, """deep:even $arg1:int32_t
deep:odd $arg1:int32_t $arg2:uint64_t $arg3:uint128_t $arg4:uint64_t
  '$arg2' can't be read: its location '8@nowhere(%rip)' is not supported
  '$arg3' can't be read: its location '16@%xmm0' is not supported
  '$arg4' can't be read: its location '8@%fs:16' is not supported
""")
rows = [json.loads(row) for row in spile("marks", "--json", directory / "odd").expect(status=0).out.splitlines()]
expect([[bool(argument.get("unreadable")) for argument in row["arguments"]] for row in rows],
       [[False], [False, True, True, True]])
spile("-p2", "-e", 'probe process.mark("odd") { println($arg2) }', "-c", directory / "odd").expect(
    status=1, err_match=r"'\$arg2' can't be read: its location '8@nowhere\(%rip\)' is not supported")
