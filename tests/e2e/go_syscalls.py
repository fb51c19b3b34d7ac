# process.syscall in a Go program, by handlers in it: at all depths of goroutines' small stacks, in threads that end, and in
# children. Attached to and left again and again, it runs on.
# variants: counted attached cgo
from spiletest import *

SCRIPT = r"""global calls, returns
probe process.syscall { calls[$syscall]++ }
probe process.syscall.return { returns[$syscall]++ }
probe end { foreach (n+ in calls) printf("%d %d %d\n", n, calls[n], returns[n]) }"""
IN_PROCESS = "system calls are probed in the process"


def counts(script, command):
    result = spile("-v", "-e", script, "-c", command).expect(status=0)
    return result, {int(n): (int(c), int(r)) for n, c, r in re.findall(r"^(\d+) (\d+) (\d+)$", result.out, re.M)}


if VARIANT == "counted":
    for script, in_process in (SCRIPT, True), (SCRIPT + 'probe process("/nowhere/*").syscall { exit() }', False):
        result, found = counts(script, f"{program('go_syscalls')} 2000")
        calls, children, exits = map(int, re.search(r"^calls (\d+) children (\d+) exits (\d+)$", result.out, re.M).groups())
        expect(IN_PROCESS in result.err, in_process, str(result))
        expect((found[110], found[121]), ((calls, calls), (calls, calls)), f"getppid and getpgid\n{result}")
        expect((found[59], found[60]), ((children, children), (exits, 0)), f"execve and exit\n{result}")
    # Handlers that take more of the stack than a goroutine may have.
    result = spile("-e", r"""global n probe process.syscall { if ($syscall == 110) { n++ if (n % 100 == 0) printf("%s %d """
                         r"""%d\n", execname(), n, tid() > 0) } }""",
                   "-c", f"{program('go_syscalls')} 500").expect(status=0)
    expect(len(re.findall(r"^go_syscalls \d+00 1$", result.out, re.M)), 80, str(result))
elif VARIANT == "attached":
    target = start(program("go_calls"), 1, 120)
    for _ in range(3):
        session = Session("-v", "-e", SCRIPT, "-x", target.pid)
        session.wait_message("system calls")
        wait_turns(target.pid)
        result = session.stop().expect(status=0)
        expect_match(IN_PROCESS, result.err)
        expect_untouched(target.pid)
    # Nor does it need us.
    session = Session("-v", "-e", SCRIPT, "-x", target.pid)
    session.wait_message("system calls")
    session.process.kill()
    session.process.wait()
    wait_turns(target.pid)
    target.terminate()
    out, _ = target.communicate(timeout=300)
    expect(target.returncode, 0, out.decode())
else:
    result, found = counts(SCRIPT, f"{program('go_and_c')} 5")
    expect_match(IN_PROCESS, result.err)
    expect_true(found[231][0] == 1, str(result))
