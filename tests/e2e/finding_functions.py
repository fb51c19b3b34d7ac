# variants: library_names aliases offsets ifunc
# Functions by other ways than their symbol: a library's name alone, a symbol that debug information does not know, a distance in
# bytes, and a function that is chosen when the program starts.
from spiletest import *

directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
LIBC = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")


def build(name, source, *flags):
    (directory / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-g", *flags, "-o", directory / name, directory / f"{name}.c"], check=True)
    return directory / name


if VARIANT == "library_names":
    for name in "libc.so.6", "libm.so.6":
        listed = spile("-l", f'process("{name}").function("{"malloc" if name[3] == "c" else "cos"}")')
        expect_true(listed.status == 0 or "IFUNC" in listed.err, str(listed))
    spile("-l", 'process("libc.so.6").function("malloc")').expect(out_match=f'^process\\("{LIBC}"\\).function\\("malloc')
    spile("-l", 'process("libno-such.so.1").function("f")').expect(status=1,
                                                                   err_match="nor where the dynamic linker looks for libraries")
elif VARIANT == "aliases":
    if not os.path.exists("/usr/lib/debug/.build-id"):
        skip("needs libc6-dbg")
    by_alias = spile("-l", 'process("libc.so.6").statement("malloc@*:*")').expect()
    by_name = spile("-l", 'process("libc.so.6").statement("__libc_malloc@*:*")').expect()
    expect(by_alias.out, by_name.out, "statements of malloc")
    expect_true(by_alias.out.count("\n") > 10, by_alias.out)
    source = ("int work(int n) { int m = n * 2; if (m > 4) m++;\n return m; }\nint same(int) __attribute__((alias(\"work\")));\n"
              "int main(int c, char** v) { return same(c + 4) != 11; }\n")
    aliased = build("aliased", source, "-O0")
    spile("-e", 'probe process.statement("same@*:2") { println($m) }', "-c", aliased).expect(out="11\n")
elif VARIANT == "offsets":
    program_file = build("offsets", "__attribute__((noinline)) int work(int n) { volatile int m = n; m += 2; m *= 3; return m; "
                                    "}\nint main(int c, char** v) { return work(5) != 21; }\n")
    lines = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program_file], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    code = lines.partition("<work>:\n")[2].partition("\n\n")[0]
    addresses = [int(address, 16) for address in re.findall(r"^ *([0-9a-f]+):", code, re.M)]
    offsets = [address - addresses[0] for address in addresses[1:-1]]
    script = "".join(f'probe process.statement("work+{hex(offset) if offset % 2 else offset}") {{ println({offset}) }} '
                     for offset in offsets)
    spile("-e", script, "-c", program_file).expect(out="".join(f"{offset}\n" for offset in offsets))
    spile("-e", 'probe process.statement("work+4096") {}', "-c", program_file).expect(
        status=1, err_match=r"'work\+0x1000' is not in the function 'work' of .*, which has 0x[0-9a-f]+ bytes")
    spile("-e", 'probe process.function("work+4") {}', "-c",
          program_file).expect(status=1, err_match=r'process.statement\("work\+4"\) probes the instruction there')
    middle = next(offset + 1 for offset, after in zip([0, *offsets], offsets) if after - offset > 1)
    spile("-e", f'probe process.statement("work+{middle}") {{ println("hit") }}', "-c", program_file).expect(status=1, out="")
elif VARIANT == "ifunc":
    source = """#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int first(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) int second(int n) { __asm__ volatile(""); return n + 2; }
static int (*choose(void))(int) { return second; }
int chosen(int n) __attribute__((ifunc("choose")));
int main(int argc, char** argv) {
  char from[64] = "0123456789", to[64];
  puts("ready"); fflush(stdout); getchar();
  int sum = 0;
  for (int i = 0; i < 100; ++i) { sum += chosen(i); memcpy(to, from, (size_t)(argc + 20)); __asm__ volatile("" : : "r"(to) : "memory"); }
  return sum != 5150;
}
"""
    program_file = build("ifunc", source, "-fno-builtin")
    target = start(program_file, ready="ready", stdin=subprocess.PIPE)
    session = Session("-e", 'global n, m probe process.function("chosen") { n++ } probe process("libc.so.6").function("memcpy") '
                            '{ m++ } probe end { println(n, " ", m >= 100) }',
                      "-x", target.pid).attached(target.pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    result = session.wait()
    expect(target.wait(), 0, "status of the program")
    result.expect(out="100 1\n", err_match=rf"'chosen' of .*/ifunc is chosen when a program starts: on process {target.pid} "
                                           rf"it is 'second' at 0x[0-9a-f]+, which other functions may share")
    expect_match(rf"'memcpy' of {LIBC} is chosen when a program starts: on process {target.pid} it is '", result.err)
    # Before it runs, what this machine chooses is known of libraries that spile has loaded itself, and nothing of the program.
    spile("-e", 'probe process("libc.so.6").function("memcpy") { exit() }', "-c",
          f"sh -c 'echo | {program_file}'").expect(err_match="on this machine it is '")
    spile("-e", 'probe process.function("chosen") { }', "-c",
          program_file).expect(status=1, err_match="which one is not known before a process runs: attach with -x")
