# Functions that the linker has dropped stay described in debug information, at addresses near 0: nothing of them can be probed,
# and nothing is listed.
from spiletest import *

folder = temporary_directory()
source = folder / "dropped.cpp"
source.write_text("""volatile int sink;
inline __attribute__((always_inline)) void note(int n) { sink = n; }
void dropped_one(int n) { note(n); note(n + 1); }
void dropped_two(int n) { for (int i = 0; i < n; ++i) note(i); }
__attribute__((noinline)) void kept(int n) { note(n); }
int main() { kept(1); }
""")
for compiler, linker, version in (("g++", "bfd", 4), ("g++", "bfd", 5), ("clang++-19", "lld-19", 5)):
    installed(compiler)
    path = folder / f"{compiler}_{version}"
    subprocess.run([compiler, "-g", f"-gdwarf-{version}", "-O1", "-ffunction-sections", "-Wl,--gc-sections",
                    f"-fuse-ld={linker}" if linker != "bfd" else "-g", "-o", path, source], check=True)
    points = spile("-l", f'process("{path}").function("*")').expect(status=0, err="").out
    expect_true("(\"kept@" in points and "(\"dropped" not in points, points)
    inlined = [line for line in spile("-p2", "-e", f'probe process("{path}").function("note").inline {{ }}').expect(
        status=0).out.splitlines() if "pc=" in line]
    expect(len(inlined), 1, f"calls of note() in {path}")
    statements = spile("-l", f'process("{path}").statement("*@dropped.cpp:*")').expect(status=0).out
    expect(set(re.findall(r"dropped.cpp:(\d+)", statements)) - {"2", "5", "6"}, set(), f"lines with code in {path}")
    spile("-e", f'probe process("{path}").function("note") {{ println($n) }}', "-c", path).expect(status=0, out="1\n")
