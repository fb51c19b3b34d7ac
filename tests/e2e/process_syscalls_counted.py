# process.syscall by handlers in the process: the same calls and returns as ptrace sees, in threads and children, by code that the
# program has made itself, while threads wait in calls for hours, and when they are cancelled there.
# variants: shared static jit wait cancel killed signals library pid
from spiletest import *

SCRIPT = r"""global calls, returns
probe %s.syscall { calls[$syscall]++ }
probe %s.syscall.return { returns[$syscall]++ }
probe end { foreach (n+ in calls) printf("%%d %%d %%d\n", n, calls[n], returns[n]) }"""
OURS = SCRIPT % ("process", "process")
# A probe that is not for all that runs leaves all calls to ptrace.
TRACED = OURS + 'probe process("/nowhere/*").syscall { exit() }'
IN_PROCESS = "system calls are probed in the process"


def counts(script, command, *more):
    result = spile("-v", "-e", script, "-c", command, "-o", "/dev/stderr", *more).expect(status=0)
    return result, {int(n): (int(c), int(r)) for n, c, r in re.findall(r"^(\d+) (\d+) (\d+)$", result.err, re.M)}


if VARIANT in ("shared", "static"):
    command = f"{program('syscalls' if VARIANT == 'shared' else 'syscalls_static')} calls 500"
    result, ours = counts(OURS, command)
    expect_match(IN_PROCESS, result.err)
    expect_true("is unclear" not in result.err, f"all known:\n{result}")
    traced, theirs = counts(TRACED, command)
    expect_true(IN_PROCESS not in traced.err, f"should be traced:\n{traced}")
    expect(ours[110], (4010, 4010), f"getppid {result}")
    expect(ours[39], (4000, 4000), f"getpid {result}")
    # futex, wait4, madvise: how often depends on who is first.
    for n in sorted((set(ours) | set(theirs)) - {202, 61, 28}):
        expect(ours.get(n), theirs.get(n), f"calls and returns of number {n}\n{result}")
    path = SCRIPT % ((f'process("{program("syscalls")}")',) * 2)
    if VARIANT == "shared":
        _, ours = counts(path, f"{program('syscalls')} getpid 1000")
        expect(ours[39], (1000, 1000))
elif VARIANT == "jit":
    result, ours = counts(OURS, f"{program('syscalls')} jit 1000")
    expect_match("system calls stop the process: it makes memory executable", result.err)
    expect(ours[110], (2000, 2000))
elif VARIANT == "signals":
    result, ours = counts(OURS, f"{program('syscalls')} signals 5")
    traced, theirs = counts(TRACED, f"{program('syscalls')} signals 5")
    for each in (ours, theirs):
        expect((each[130], each[15], each[110]), ((5, 5), (10, 0), (10, 10)), f"sigsuspend, sigreturn, getppid\n{result}{traced}")
    for n in sorted((set(ours) | set(theirs)) - {202, 28}):
        expect(ours.get(n), theirs.get(n), f"calls and returns of number {n}\n{result}{traced}")
elif VARIANT == "library":
    known, ours = counts(OURS, f"{program('syscalls')} library 300 {program('libsyscalls_known.so')}")
    expect(ours[110], (300, 300), f"{known}")
    expect_true(known.err.count("system calls stop the process") < known.err.count(IN_PROCESS),
                f"not by ptrace for good:\n{known}")
    # What nobody can say to be an instruction or not leaves all to ptrace.
    unknown, ours = counts(OURS, f"{program('syscalls')} library 300 {program('libsyscalls_unknown.so')}")
    expect(ours[110], (300, 300), f"{unknown}")
    expect_match(r"libsyscalls_unknown.so\+0x[0-9a-f]+ does is unclear", unknown.err)
elif VARIANT == "pid":
    # Of one process: its children copy its handlers, and those of vfork run in its memory meanwhile, beside its other threads.
    target = start(program("syscalls"), "spawn", 30, stdin=subprocess.PIPE)
    pid_script = f"global others probe process({target.pid}).syscall {{ others += pid() != {target.pid} }} " + SCRIPT % (
        (f"process({target.pid})",) * 2)
    session = Session("-v", "-e", pid_script + ' probe end { printf("others %d\\n", others) }', "-x", target.pid)
    session.wait_message(IN_PROCESS)
    target.stdin.write(b"\n")
    target.stdin.flush()
    calls = int(target.stdout.readline().split()[1])
    result = session.wait().expect(status=0, out_match="^others 0$")
    expect_match(f"^110 {calls} {calls}$", result.out, str(result))
    # What no probe is for stops nowhere.
    expect_true("not for this program" not in result.err, str(result))
    _, path = counts(SCRIPT % (('process("/bin/true")',) * 2), "sh -c '/bin/true; :'")
    expect((path[231], path.get(57), path.get(61)), ((1, 0), None, None), "calls of /bin/true")
elif VARIANT == "wait":
    target = start(program("syscalls"), "wait", ready="ready", stdin=subprocess.PIPE)
    for _ in range(5):
        session = Session("-v", "-e", OURS, "-x", target.pid)
        session.wait_message(IN_PROCESS)
        session.stop().expect(status=0)
        expect_untouched(target.pid)
    session = Session("-v", "-e", OURS + "probe process.syscall.return { if ($syscall == 0 || $syscall == 7) exit() }",
                      "-x", target.pid)
    session.wait_message(IN_PROCESS)
    target.stdin.write(b"x")
    target.stdin.flush()
    expect(target.stdout.readline().decode(), "went 2\n")
    expect(target.wait(30 * PATIENCE), 0)
    session.wait()
elif VARIANT == "cancel":
    result = spile("-e", OURS, "-c", f"{program('syscalls')} cancel 20", "-o", "/dev/null")
    result.expect(out="cleaned 20\n", status=0)
    if shutil.which("musl-gcc") is None:
        print("no musl-gcc: glibc only")
elif VARIANT == "killed":
    target = start(program("syscalls"), "wait", ready="ready", stdin=subprocess.PIPE)
    for _ in range(3):
        session = Session("-v", "-e", OURS, "-x", target.pid)
        session.wait_message(IN_PROCESS)
        session.process.kill()
        session.process.wait()
    # The next one takes out what is left, though the threads have been waiting in it all the time.
    spile("-e", 'probe process.function("main") {} probe timer.ms(100) { exit() }', "-x", target.pid).expect(status=0)
    expect_untouched(target.pid)
    target.stdin.write(b"x")
    target.stdin.flush()
    expect(target.stdout.readline().decode(), "went 2\n")
    expect(target.wait(10 * PATIENCE), 0)
