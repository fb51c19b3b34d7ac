# Marks of a library are shown as the library's, and a verb for functions that is given a mark says how marks are traced.
from spiletest import *

folder = temporary_directory()
(folder / "a.cpp").write_text("int main() { try { throw 1; } catch (int) { return 0; } }\n")
(folder / "b.c").write_text("int main(void) { return 0; }\n")
path = folder / "a"
subprocess.run(["g++", "-o", path, folder / "a.cpp"], check=True)
subprocess.run(["gcc", "-o", folder / "b", folder / "b.c"], check=True)
out = spile("marks", path).expect(status=0).out
expect_match(r"^\S*/libstdc\+\+\.so\.6\S*:\nlibstdcxx:", out)
library = out.partition(":\n")[0]
result = spile("trace", "libstdcxx:throw", "-c", path).expect(status=1, out="")
expect_match(r"^spile: 'libstdcxx:throw' is an SDT mark, not a function\n", result.err)
script = re.search(r"hint: spile -e '(.*)' shows its hits", result.err)[1]
spile("-e", script, "-c", path).expect(status=0, out_match=r"\$arg1=|\w+=0x", err="")
spile("top", "libstdcxx:nothing", "-c", path).expect(status=1, err_match=r"the name of a library has \.so")

# hist counts hits of marks, of the program or of a library of it.
result = spile("hist", "libstdcxx:throw", "keys=comm", "-c", path).expect(status=0, err="")
expect_match(r"^# trigger info: libstdcxx:throw hist:keys=comm:", result.out)
expect_match(r"^\{ comm: a +\} hitcount: +1$", result.out)
own = spile("hist", "spile:floats", "keys=arg1.hex", "-c", program("float_marks"), "-o", "/dev/stderr").expect(status=0).err
expect_match(r"^\{ arg1: 3ff8000000000000 +\} hitcount: +1$", own)
spile("hist", "libstdcxx:nothing", "keys=comm", "-c", path).expect(status=1, err_match="no tracepoint 'libstdcxx:nothing'")

# Many files at once, each by itself: the library has no marks but its own, and what has none is passed over.
shutil.copy(library, folder / "lib.so")
expect_match(rf"^{re.escape(str(folder))}/lib\.so:\nlibstdcxx:\w+ ", spile("marks", f"{folder}/*").expect(status=0, err="").out)
thrown = spile("marks", f"{folder}/*.so", "libstdcxx:throw").expect(status=0).out
expect_match(r"^libstdcxx:throw [^\n]*\n$", thrown.partition("\n")[2])
spile("marks", f"{folder}/[ab]").expect(status=1, out="", err=f"spile: no SDT mark in the 2 files of '{folder}/[ab]' matches\n")
spile("marks", f"{folder}/[a]").expect(status=1, out="", err=f"spile: no SDT mark in {folder}/a matches\n")
