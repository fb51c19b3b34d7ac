# variants: gcc clang
# Lines of functions that are inlined, up to three levels deep, and also into parts of functions that are seldom executed: a
# statement probe finds them by the inlined function's name and by that of each function around it. Hits are executions.
from spiletest import *

directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
compiler = installed({"gcc": "gcc", "clang": "clang-19"}[VARIANT])
TURNS = 30
source = directory / "deep.c"
source.write_text(r"""#include <stdio.h>
#include <stdlib.h>
#define INLINED static inline __attribute__((always_inline))
volatile int sink;
__attribute__((cold, noinline)) void seldom(int x) { sink += x; }
INLINED int leaf(int x) {
  sink = x;  // leaf
  if (x % 10 == 9)
    seldom(x);  // cold
  return x * 3;
}
INLINED int middle(int x) {
  int more = x + 1;
  return leaf(more);  // middle
}
INLINED int top(int x) {
  return middle(x);  // top
}
__attribute__((noinline)) int one(int x) {
  int sum = top(x);  // one
  sum ^= top(x + 5);
  return sum;
}
__attribute__((noinline)) int two(int x) {
  return middle(x) ^ leaf(x);  // two
}
int main(int argc, char **argv) {
  int turns = atoi(argv[1]), sum = 0;
  for (int i = 0; i < turns; i++) {
    sum += one(i);
    if (i % 3 == 0) sum -= two(i);  // main
  }
  printf("%d\n", sum);
  return 0;
}
""")
LINE = {text.partition("// ")[2]: i for i, text in enumerate(source.read_text().splitlines(), 1) if "// " in text}

# What leaf() gets, by the way of the call.
by_top = [x for i in range(TURNS) for x in (i + 1, i + 6)]
by_middle = [i + 1 for i in range(0, TURNS, 3)]
by_two = list(range(0, TURNS, 3))
ALL = {"leaf": by_top + by_middle + by_two, "middle": by_top + by_middle, "top": by_top, "one": by_top, "two": by_middle + by_two}
# Points, and the values of $x there: the inlined function's. Of calls that pass it on at once it may be optimized out.
wanted = {f"{name}@deep.c:{LINE['leaf']}": values for name, values in ALL.items()}
wanted |= {f"{name}@deep.c:{LINE['cold']}": [x for x in values if x % 10 == 9] for name, values in ALL.items()}
wanted |= {f"one@deep.c:{LINE['one']}": range(TURNS), f"two@deep.c:{LINE['two']}": by_two,
           f"*@deep.c:{LINE['leaf']}": ALL["leaf"]}
passed = {f"{name}@deep.c:{LINE['middle']}": ALL[name] for name in ("middle", "top", "one")}
passed |= {f"{name}@deep.c:{LINE['top']}": by_top for name in ("top", "one")}
passed |= {f"two@deep.c:{LINE['middle']}": by_middle}

BUILDS = ["-O2", "-O3", "-O1", "-O0", "-O2 -gdwarf-4", "-O2 -gsplit-dwarf", "-O2 -ffunction-sections -Wl,--gc-sections"]
for build in BUILDS + (["-O2 -flto"] if VARIANT == "gcc" else []):
    program = directory / "deep"
    subprocess.run([compiler, "-g", *build.split(), source, "-o", program], cwd=directory, check=True)
    probes = [f'probe process.statement("{point}") {{ hits["{point}"]++; values["{point}"] += $x }}' for point in wanted]
    probes += [f'probe process.statement("{point}") {{ hits["{point}"]++ }}' for point in passed]
    probes += ['probe end { foreach (p in hits) printf("%s %d %d\\n", p, hits[p], values[p]) }']
    # First from debug information, then from what was remembered of it.
    for _ in range(2):
        result = spile("-e", "\n".join(["global hits, values", *probes]), "-c", f"{program} {TURNS}", "-o", "/dev/stderr")
        result.expect(status=0)
        got = {point: (int(hits), int(values)) for point, hits, values in (line.split() for line in result.err.splitlines())}
        for point, values in wanted.items():
            expect(got.get(point), (len(values), sum(values)), f"{build}: {point}")
        for point, values in passed.items():
            expect(got.get(point), (len(values), 0), f"{build}: {point}")

# Lines that belong to none of the copies are errors still.
spile("-p2", "-e", f'probe process.statement("top@deep.c:{LINE["two"]}") {{ next }}', "-c", program).expect(
    status=1, err_match="no line records for deep.c:")
