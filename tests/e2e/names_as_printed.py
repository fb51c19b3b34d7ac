# Names of functions as `funcs`, -l and `top` print them are accepted as words of verbs and in points.
from spiletest import *

folder = temporary_directory()
# As they are printed.
symbols = [r"a\nb", 'q"uo\\te', "sp ace", "!bang", "a|b", r"esc\033[31m", r"tab\there", "st*r?[x]", "100%s"]
raw = [name if '"' in name else name.encode().decode("unicode_escape") for name in symbols]
(folder / "odd.c").write_text("#define NI __attribute__((noinline))\n"
                              "#define F(n) NI void n(void) { __asm__ volatile(\"nop; nop; nop; nop; nop\"); }\n"
                              + "".join(f"F(f{i})\n" for i in range(len(raw)))
                              + "int main(void) { " + "".join(f"f{i}(); " for i in range(len(raw))) + "return 0; }\n")
subprocess.run(["gcc", "-O1", "-c", "-o", folder / "odd.o", folder / "odd.c"], check=True)
renamed = [f"--redefine-sym=f{i}={name}" for i, name in enumerate(raw)]
subprocess.run(["objcopy", *renamed, folder / "odd.o", folder / "named.o"], check=True)
odd = folder / "odd"
subprocess.run(["gcc", "-o", odd, folder / "named.o"], check=True)
(folder / "literal.cpp").write_text("""#define NI __attribute__((noinline))
NI long operator""_km(unsigned long long v) { asm volatile(""); return v; }
int main() { return 5_km == 4; }
""")
literal = folder / "literal"
subprocess.run(["g++", "-g", "-O1", "-o", literal, folder / "literal.cpp"], check=True)


def calls(*words, command):
    """Each row of `top`: the function's name as it is printed, and its calls."""
    out = spile("top", *words, "-c", command).expect(status=0).out
    return {line[:-1].rstrip(): int(count) for line, count in re.findall(r"^(.*? ) *(\d+) +[\d,]+ +\d+.*$", out, re.M)}


printed = spile("funcs", odd).expect(status=0).out.splitlines()
expect(sorted(set(symbols) - set(printed)), [])
rows = calls("*", command=odd)
expect({name: rows.get(name) for name in symbols}, {name: 1 for name in symbols})
for name in symbols:
    word = name.replace("|", "\\|").replace("!", "\\!")
    expect(calls(word, command=odd), {name: 1}, word)
    expect(spile("funcs", odd, word).expect(status=0).out, name + "\n", word)
    expect_match(re.escape(name) + r"\(\)", spile("trace", word, "-c", odd).expect(status=0).out, word)
    expect_true(name not in calls("*", "!" + word.replace("\\!", "!"), command=odd), word)

# Names that '*' has found stand in the script with what they are.
for program, wanted in (odd, symbols), (literal, ['operator"" _km']):
    tree = spile("trace", "*", "!main", "-c", program).expect(status=0).out
    for name in wanted:
        expect_match(re.escape(name) + r"\(", tree, name)
    expect_true("main" not in tree, tree)
for word in 'operator"" _km', r'operator\"\" _km', 'operator""_km':
    expect(calls(word, command=literal), {'operator"" _km': 1}, word)
    expect_match("^n=1 ", spile("lat", word, "-c", literal).expect(status=0).out, word)
expect_match('operator"" _km', spile("flame", "--of", 'operator"" _km', "-c", literal).expect(status=0).out)

# A newline of a word stays within its string and the comment of the verb's script.
for verb in ["flame", "--of"], ["snap"]:
    script = spile("--script", *verb, "a\nprobe begin { }", "-c", odd).expect(status=0).out
    expect_true("\nprobe begin { }" not in script, script)
