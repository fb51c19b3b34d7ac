# System calls of 32-bit code, in a 32-bit program and by `int $0x80` in a 64-bit one: by their own names, with their own
# arguments, whoever reports them. x32's are the 64-bit calls of their names.
from spiletest import *

# name, arguments, result
CALLS = r"""
getppid\(\) [1-9]\d*
chdir\("/"\) 0
pread64\(-1, 0x[0-9a-f]+, 8, 4886718345\) -9
truncate64\("/nowhere/at/all", 4886718345\) -2
nanosleep\(\[0\.000001000\], 0x0\) 0
waitpid\(-1, 0x0, WNOHANG\) -10""".strip().splitlines()
WANTED = [CALLS[0]] * 5 + CALLS[1:]
SYSCALL = r"""probe syscall.*.return {
  if (pid() == target() && name !~ "^(brk|exit|getpid|execve|arch_prctl|rt_sigprocmask)")
    printf("%s(%s) %d\n", name == "pread" ? "pread64" : name, argstr, retval) }"""
NUMBERS = r"""global n, first
probe process.syscall { n[syscall_name($syscall)]++; if (syscall_name($syscall) == "truncate64") first = $arg2 }
probe end { foreach (name+ in n) printf("%s %d\n", name, n[name]); printf("%x\n", first) }"""


def command_of(bits):
    return program(f"foreign_system_calls_{bits}")


try:
    subprocess.run(command_of(32), stdout=subprocess.DEVNULL, check=True)
except OSError as error:  # ENOEXEC
    skip(f"this kernel runs no 32-bit programs: {error}")


def expect_calls(result, what):
    lines = [line for line in result.out.splitlines() if line]
    expect(len(lines), len(WANTED), f"calls of {what}\n{result}")
    for line, wanted in zip(lines, WANTED):
        expect_match(f"^{wanted}$", line, f"a call of {what}\n{result}")


for bits in (32, 64):
    path = command_of(bits)
    expect_calls(spile("-e", SYSCALL, "-c", path), f"{bits} bits")
    result = spile("-e", NUMBERS, "-c", path)
    counts = dict(line.split() for line in result.out.splitlines() if " " in line)
    mine = {"getppid": "5", "chdir": "1", "pread64": "1", "truncate64": "1", "nanosleep": "1", "waitpid": "1", "exit_group": "1"}
    if bits == 64:
        mine["getpid"] = "1"  # x32's
    expect(counts, mine, f"calls by number of {bits} bits\n{result}")
    expect_match("^123456789$", result.out, f"an offset in halves\n{result}")
    # By name, and in the middle of a run.
    expect_match("^5 1 0$", spile("-e", r"""global a, b, c probe syscall.getppid { a++ } probe syscall.pread { b++ }
      probe syscall.semget, syscall.brk { c++ } probe end { printf("%d %d %d\n", a, b, c) }""", "-c", path).out)
    process = start(path, "on")
    result = spile("-e", r"""global n probe process.syscall { if (++n[syscall_name($syscall)] > 5 && n["nanosleep"] > 5) exit() }
      probe end { foreach (name+ in n) println(name) }""", "-x", str(process.pid))
    names = set(result.out.split())
    wanted = {"chdir", "getppid", "nanosleep", "pread64", "truncate64", "waitpid"}
    expect(names - {"getpid"}, wanted, f"names when attached\n{result}")
    finish(process)

# A 32-bit program has no places to probe.
spile("-p2", "-e", f'probe process("{command_of(32)}").function("begin") {{ println(1) }}',
      "-c", command_of(32)).expect(status=1, err_match="only x86-64 is supported")
