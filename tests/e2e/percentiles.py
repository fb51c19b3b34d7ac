# @percentile is the nearest rank within 1/128: for values of one thread and of several, of one aggregate and of arrays' elements,
# small, large and negative, where they are collected in a process, in the kernel, and in spile itself. Percentages can be
# computed, or have decimals; wrong ones are errors.
from spiletest import *

folder = temporary_directory()
chance = random.Random(3)
values = [chance.randrange(-200, 1000) * 7 ** (i % 9) for i in range(6000)]
(folder / "values.c").write_text("#include <pthread.h>\n__attribute__((noipa)) long take(long value) { return value; }\n"
    f"static const long values[] = {{{','.join(map(str, values))}}};\n"
    "static void* run(void* first) { for (long i = (long)first; i < 6000; i += 3) take(values[i]); return 0; }\n"
    "int main(void) { pthread_t id[3]; for (long i = 0; i < 3; i++) pthread_create(&id[i], 0, run, (void*)i);\n"
    "  for (int i = 0; i < 3; i++) pthread_join(id[i], 0); }\n")
subprocess.run([installed("gcc"), "-O1", "-g", "-pthread", folder / "values.c", "-o", folder / "values"], check=True)
PERCENTAGES = ["0", "1", "50", "90", "99", '"99.9"', '"99.95"', "100"]


def expect_percentiles(printed, all_values, what):
    """printed: @percentile of each of PERCENTAGES."""
    ordered = sorted(all_values)
    for percentage, text in zip(PERCENTAGES, printed, strict=True):
        rank = max(1, -(-len(ordered) * round(1000 * float(percentage.strip('"'))) // 100_000))
        exact = ordered[rank - 1]
        expect_true(abs(int(text) - exact) <= abs(exact) / 128, f"{what}: {percentage} % is {exact}, not {text}")
    expect((int(printed[0]), int(printed[-1])), (ordered[0], ordered[-1]), f"{what}: least and most")


def taken(stats):
    return "printf(\"" + "%d " * len(PERCENTAGES) + "\\n\", " + ", ".join(f"@percentile({stats}, {p})" for p in PERCENTAGES) + ")"


out = spile("-e", 'global s, a probe process.function("take") { s <<< $value; a[$value < 0, "x"] <<< $value }'
            f' probe end {{ println(@count(s)) {taken("s")} foreach ([sign, x] in a+) {{ {taken("a[sign, x]")} }} }}', "-c",
            folder / "values").expect().out.splitlines()
expect(out[0], "6000")
expect_percentiles(out[1].split(), values, "three threads")
by_first = {int(line.split()[0]) < 0: line.split() for line in out[2:]}
expect_percentiles(by_first[False], [v for v in values if v >= 0], "an element")
expect_percentiles(by_first[True], [v for v in values if v < 0], "an element with negative values")

# A cleared aggregate, and an element that was deleted and comes again, have none of the values before.
out = spile("-e", "global s, a, z probe begin { for (i = 0; i < 1000; i++) { s <<< i * i; a[i & 1] <<< i } delete s; "
                  "delete a[1]; s <<< 5; s <<< 9; s <<< 70; a[1] <<< 3; a[1] <<< 8; a[1] <<< 9000;"
            " z = 50; println(@percentile(s, z), \" \", @percentile(s, z * 2), \" \", @percentile(a[1], z), \" \", "
            "@percentile(a[0], 50)); exit() }").expect().out
expect(" ".join(out.split()[:3]), "9 70 8")
expect_true(abs(int(out.split()[3]) - 498) <= 4, out)

# In the kernel, read there too.
if os.geteuid() == 0:
    out = spile("-e", 'global s probe kernel.trace("syscalls:sys_enter_lseek") { if (pid() == target() && $whence == 0 && '
                      '$offset >= 1000000) { s <<< $offset; if ($offset == 1000999) println(@percentile(s, 50)) } }'
                f' probe end {{ {taken("s")} }}', "-c",
                f"{sys.executable} -c 'import os\nf = os.open(\"/dev/zero\", 0)\nfor i in range(1000): os.lseek(f, "
                f"1000000 + i, 0)'").expect().out.splitlines()
    expect_true(abs(int(out[0]) - 1000499) <= 1000499 / 128, out[0])
    expect_percentiles(out[1].split(), range(1000000, 1001000), "in the kernel")

spile("-e", "global s probe begin { s <<< 1; p = 101; println(@percentile(s, p)) }").expect(
    status=1, out="", err_match="^ERROR: @percentile of 101 percent: it goes from 0 to 100 at <input>:1:50")
spile("-e", "global s probe begin { s <<< 1; delete s; println(@percentile(s, 5)) }").expect(
    status=1, out="", err_match="^ERROR: empty aggregate near operator '@percentile'")
spile("-e", 'global s probe begin { s <<< 1; println(@percentile(s, "99.9999")) }').expect(
    status=1, err_match="a percentage with at most three decimals")

# The histogram with a unit has the percentiles in its second line, and ranges that hold all values.
out = spile("-e", "global s, l probe begin { for (i = 1; i <= 1000; i++) { s <<< i; l <<< i } print(@hist_log(s, \"us\")); "
                  "print(@hist_linear(l, 0, 999, 500, \"\")); exit() }", "--suppress-time-limits", "-g").expect().out
lines = out.splitlines()
expect(lines[0].split(), ["us", "count", "%"])
second = dict(pair.split("=") for pair in lines[1].split())
expect((second["n"], second["min"], second["max"]), ("1,000", "1", "1.0K"))
expect_true(abs(int(second["p50"]) - 500) <= 4 and abs(int(second["p99"]) - 990) <= 8, lines[1])
expect([line.split(")")[0].strip() + ")" for line in lines[3:12]],
       [f"[{1 << n}, {1 << n + 1})" if n < 9 else "[512, 1K)" for n in range(1, 10)])
expect([line.split() for line in lines if line.strip().startswith(("[0, 500)", "[500, 1000)", "from 1000"))],
       [["[0,", "500)", "499", "49.9", "|" + 40 * "@"], ["[500,", "1000)", "500", "50.0", "|" + 40 * "@"],
        ["from", "1000", "on", "1", "0.1", "|"]])
spile("-e", "global s probe begin { s <<< 1; println(sprint(@hist_log(s, \"us\"))) }").expect(
    status=1, err_match="can be printed, not made a string")
