# variants: bolt cdsplit gcc clang propeller assembly
# Symbols that are no functions: parts of functions that compilers and BOLT put elsewhere are jumped to. All functions of the
# program are probed, entries and returns: its output is its own, and hits are its calls. And functions of assembly language,
# whose symbols have no size.
from spiletest import *

directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
COUNTS = """global e, r
probe process.function("*").call { e[ppfunc()]++ }
probe process.function("*").return { r[ppfunc()]++ }
probe end { foreach (f+ in e) printf("# %s %d %d\\n", f, e[f], r[f]) }"""
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile int sink;
__attribute__((noipa)) static void report(const char *what, int n) { sink += n; if (n == 12345) puts(what); }
__attribute__((noipa)) int choose(int x) {
  char text[64];
  int sum = 0;
  for (int i = 0; i < x % 5; i++) sum += i;
  if (__builtin_expect(x % 97 == 0, 0)) { snprintf(text, sizeof text, "%d", x); sum += (int)strlen(text); report(text, sum); }
  if (__builtin_expect(x % 101 == 100, 0)) { report("seldom", x); sum -= 3; report("again", x); }
  switch (x % 7) {
    case 0: report("a", x); sum += 1; break;
    case 1: sum += 2; break;
    case 2: report("b", sum); sum ^= 5; break;
    case 3: sum -= x; break;
    default: sum += 9;
  }
  return sum;
}
__attribute__((noipa)) int leaf(int x) {
  if (x & 1) return x * 3;
  if (__builtin_expect(x % 50 == 0, 0)) { for (int i = 0; i < 3; i++) x += i * sink; return x - 1; }
  return x / 7;
}
int recursive(int);
int (*volatile again)(int) = recursive;
__attribute__((noipa)) int recursive(int n) {
  if (n < 2) return n;
  if (n == 17) report("deep", n);
  return again(n - 1) + again(n - 2);
}
__attribute__((noipa)) int tail(int x) { return x % 13 == 0 ? choose(x + 1) : leaf(x); }
int main(void) {
  unsigned total = 0;
  for (int i = 0; i < 2000; i++) total += choose(i) + leaf(i) + tail(i);
  printf("%u %d\n", total + recursive(18), sink);
}
"""
CALLS = {"choose": 2000 + 154, "leaf": 2000 + 1846, "tail": 2000, "recursive": 8361}


def build(command, source=SOURCE, name="a"):
    (directory / "a.c").write_text(source)
    subprocess.run([*command.split(), "-o", name, "a.c"], cwd=directory, check=True)
    return directory / name


def symbols(binary):
    lines = subprocess.run(["readelf", "-sW", binary], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines if re.search(" (FUNC|NOTYPE) ", line)]
    return {row[7]: int(row[1], 16) for row in rows if len(row) > 7}


def unharmed(binary):
    own = subprocess.run([binary], stdout=subprocess.PIPE, text=True)
    result = spile("-DMAXSKIPPED=0", "-e", COUNTS, "-c", binary)
    lines = result.out.splitlines(True)
    expect("".join(line for line in lines if line[0] != "#"), own.stdout, f"the program's output\n{result}")
    expect((result.status, own.returncode), (0, 0), f"status\n{result}")
    return {line.split()[1]: (int(line.split()[2]), int(line.split()[3])) for line in lines if line[0] == "#"}


def expect_calls(counts, names=CALLS):
    wanted = {name: (calls, calls) for name, calls in names.items()}
    expect({name: counts.get(name) for name in names}, wanted, "entries and returns")


def expect_part(binary, part, whole):
    """It is not listed, and an explicit name is answered with what to do."""
    expect_true(part not in spile("-l", f'process("{binary}").function("*")').out, f"{part} is listed")
    address = hex(symbols(binary)[part])
    for point in f'function("{part}")', f'function("{part}").return', f"function({address})", f"function({address}).return":
        spile("-l", f'process("{binary}").{point}').expect(
            status=1, err_match=rf"'{re.escape(part)}' of .* is a part of function '{whole}', which jumps there.*(\n.*)*"
                                rf'function\("{whole}"\), or .*statement\({address}\)')
    result = spile("-e", f'global n probe process.statement({address}) {{ n++ }} probe end {{ println("# ", n > 0) }}',
                   "-c", binary)
    result.expect(status=0)
    return result.out.splitlines()[-1] == "# 1"


if VARIANT in ("bolt", "cdsplit"):
    tool = "/usr/lib/llvm-19/bin/llvm-bolt"
    if not os.path.exists(tool):
        skip("bolt-19 is not installed")
    binary = build("gcc -O2 -Wl,-q")

    def bolt(output, *options):
        subprocess.run([tool, binary, "-o", output, *options], cwd=directory, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return directory / output

    subprocess.run([bolt("profiled", "-instrument", f"--instrumentation-file={directory}/profile")], check=True,
                   stdout=subprocess.DEVNULL)
    strategies = ["cdsplit"] if VARIANT == "cdsplit" else ["all", "profile2", "random2", "randomN"]
    for strategy in strategies:
        other = bolt(strategy, f"-data={directory}/profile", "--reorder-blocks=ext-tsp", "--reorder-functions=hfsort",
                     "--split-functions", f"--split-strategy={strategy}", "--split-all-cold")
        expect_calls(unharmed(other))
        named = symbols(other)
        if VARIANT == "cdsplit":
            expect_true("choose.warm" in named, str(named))
            expect_true(expect_part(other, "choose.warm", "choose"), "choose.warm is passed")
            warm = hex(named["choose.warm"])
            frames = spile("-e", f"""global seen
                           probe process.statement({warm}) {{ seen[sprint_usyms(ubacktrace())] = 1 }}
                           probe end {{ foreach (s in seen) println(s) }}""", "-c", other)
            expect_match(r"choose\.warm", frames.out, "the part has its name in stacks")
            stripped = directory / "stripped"
            subprocess.run(["/usr/lib/llvm-19/bin/llvm-strip", "-o", stripped, other], check=True)
            listed = spile("-l", f'process("{stripped}").function("0x*")').expect().out
            expect_true(hex(named["choose"]) in listed and hex(named["choose.warm"]) not in listed, listed)
            expect_true(sum(calls for calls, _ in unharmed(stripped).values()) >= sum(CALLS.values()), "calls in a stripped file")
        elif strategy == "all":
            expect_part(other, "choose.cold.1", "choose")
elif VARIANT == "gcc":
    # What gcc splits off is called (part), or jumped to (cold).
    source = SOURCE.replace("int main(", r"""
int rest(int x) {
  if (__builtin_expect(x % 3 != 0, 1)) return x;
  for (int i = 0; i < 2; i++) { MANY x += i ^ sink; }
  return x;
}
__attribute__((noinline)) int one(int x) { return rest(x); }
__attribute__((noinline)) int two(int x) { return rest(x + 1) + 1; }
__attribute__((noinline)) int bad(int x) {
  if (__builtin_expect(x < 0, 0)) { sink = 1; sink = 2; sink = 3; sink = 4; abort(); }
  return x + 1;
}
int main(""").replace("choose(i) +", "choose(i) + one(i) + two(i) + bad(i) +")
    source = source.replace("MANY", "".join(f'report("r{n}", x * {n} + i); ' for n in range(14)))
    build("gcc -O2 -fprofile-generate", source)
    subprocess.run([directory / "a"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    for flags in "-fprofile-use", "-fpartial-inlining":
        binary = build(f"gcc -O2 -freorder-blocks-and-partition {flags}", source)
        counts = unharmed(binary)
        expect_calls(counts)
        expect_true(not any(".cold" in name for name in counts), str(counts))
        colds = [name for name in symbols(binary) if name.endswith(".cold")]
        expect_true(colds, f"gcc {flags} has no cold parts any more: the test is worthless")
        expect_part(binary, colds[0], colds[0].partition(".")[0])
        if "partial-inl" in flags:
            expect_true("rest.part.0" in symbols(binary), "gcc has no split functions any more: the test is worthless")
            expect_calls(counts, {"one": 2000, "two": 2000, "bad": 2000})
            expect(counts["rest"], (1333, 1333), "calls of rest.part.0")
elif VARIANT == "clang":
    # Cold code that clang takes out of a function is a function of its own: it is called.
    source = r"""
#include <stdio.h>
volatile int sink;
__attribute__((cold, noinline)) void report(const char *what, int n) { sink += n; if (n == -1) puts(what); }
int f(int x, int y) {
  if (x % 50 == 7) {
    report("a", x); report("b", y); sink += x * y; report("c", x + y); sink ^= y; report("d", 3); report("e", x - y);
  }
  return x * 2 + y;
}
int (*volatile called)(int, int) = f;
int main(void) { unsigned t = 0; for (int i = 0; i < 1000; i++) t += called(i, i + 1); printf("%u %d\n", t, sink); }
"""
    binary = build("clang-19 -O2 -mllvm -hot-cold-split", source)
    expect_true("f.cold.1" in symbols(binary), "clang outlines no cold code any more: the test is worthless")
    expect_calls(unharmed(binary), {"f": 1000, "f.cold.1": 20, "report": 100, "main": 1})
elif VARIANT == "propeller":
    binary = build("clang-19 -O2 -fbasic-block-sections=all", SOURCE.replace("noipa", "noinline"))
    parts = [name for name in symbols(binary) if name.startswith("choose.__part.")]
    expect_true(parts, "clang has no sections of blocks any more: the test is worthless")
    counts = unharmed(binary)
    expect_true(not any("__part" in name for name in counts), str(counts))
    expect_calls(counts, {"recursive": 8361, "main": 1})
    expect_part(binary, parts[0], "choose")
else:
    # An entry in the middle, labels, a function that nothing but its call shows, and one with a frame but without type or size.
    source = r"""
#include <stdio.h>
int plain(int), framed(int), typed(int), inner_label(void), never(void);
__asm__(".text\n.globl plain, framed, typed, inner_label, never\n"
        "plain: lea 1(%rdi), %eax\n nop\n nop\n nop\ninner_label: add $2, %eax\n ret\n"
        ".cfi_startproc\nframed: push %rbx\n .cfi_adjust_cfa_offset 8\n mov %edi, %ebx\n call typed\n add %ebx, %eax\n pop %rbx\n"
        " .cfi_adjust_cfa_offset -8\n ret\n.cfi_endproc\n"
        ".type typed, @function\ntyped: lea (%rdi,%rdi), %eax\n nop\n nop\n ret\nnever: .long 0x12345678\n");
int main(void) { int t = 0; for (int i = 0; i < 10; i++) t += plain(i) + framed(i); printf("%d\n", t); }
"""
    binary = build("gcc -O2", source)
    counts = unharmed(binary)
    expect_calls(counts, {"plain": 10, "framed": 10, "typed": 10, "main": 1})
    listed = spile("-l", f'process("{binary}").function("*")').expect().out
    for name in "inner_label", "never", "frame_dummy", "deregister_tm_clones", "_init":
        expect_true(f'"{name}"' not in listed, f"{name} is listed")
