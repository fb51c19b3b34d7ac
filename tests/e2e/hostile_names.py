# Newlines, escapes and quotes in symbols and paths forge no line of any output, and what -l prints can be pasted back.
from spiletest import *

folder = temporary_directory()
inside = folder / 'new\nline"q'
inside.mkdir()
(folder / "a.c").write_text("""__attribute__((noinline)) int evil(int x) { __asm__ volatile(""); return x; }
int main(void) { return evil(3) - 3; }
""")
name = 'bad\nprocess("/x").function("forged")\x1b[31m'
subprocess.run(["gcc", "-g", "-O1", "-c", "-o", folder / "a.o", folder / "a.c"], check=True)
subprocess.run(["objcopy", "--redefine-sym", f"evil={name}", folder / "a.o", folder / "b.o"], check=True)
path = inside / "program"
subprocess.run(["gcc", "-o", path, folder / "b.o"], check=True)
command = f"'{path}'"


def lines(*words, status=0):
    """What is printed, each line without control characters."""
    result = spile(*words).expect(status=status)
    text = result.out + result.err
    expect_true(not re.search(r"[\x00-\x08\x0b-\x1f]", text), repr(text))
    return text.splitlines()


listed = lines("-l", 'process.function("*")', "-c", command)
expect(len(listed), 3)
[point] = [line for line in listed if "forged" in line]
expect_match(
    r'^process\("\S*/new\\nline\\"q/program"\)\.function\("bad\\nprocess\(\\"/x\\"\)\.function\(\\"forged\\"\)\\033\[31m', point)
expect(len(lines("-L", 'process.function("*")', "-c", command)), 3)
for words in (["funcs"], ["funcs", "-v"]):
    printed = lines(*words[:1], *words[1:], path)
    expect((len(printed), sum("bad\\n" in line for line in printed)), (3, 1))

for words in (["lines", path, "main"], ["vars", path, "main"], ["marks", path]):
    lines(*words, status=1 if words[0] == "marks" else 0)

# In warnings and errors of the system, too: of a file's path, of a source file's name, and of a folder of marks without any.
os.environ["DEBUGINFOD_URLS"] = "http://127.0.0.1:1/\nERROR:forged"
subprocess.run(["strip", "-g", "-o", folder / "new\nline\"q/stripped", path], check=True)
for words in (["marks", f"{folder}/new?line*"], ["-e", "probe begin {}", "-c", f"'{inside}/absent'"], [f"{inside}/absent.stp"]):
    printed = lines(*words, status=1)
    expect_true(all(line.startswith(("spile: ", "  hint: ", "WARNING: ")) for line in printed), repr(printed))
del os.environ["DEBUGINFOD_URLS"]

error = lines("-p2", "-e", 'probe process.function("nosuch") {}', "-c", command, status=1)
expect_match(r"error: no function 'nosuch' in \S*new\\nline\"q/program", error[0])

# Its functions are found in the running process, and by the name that -l has printed.
counting = 'global n probe process.function("main") { n++ } probe end { println(n) }'
spile("-e", counting, "-c", command).expect(status=0, out="1\n", err="")
main = next(line for line in listed if "main" in line)
spile("-e", f"global n probe {main} {{ n++ }} probe end {{ println(n) }}", "-c", command).expect(status=0, out="1\n", err="")
