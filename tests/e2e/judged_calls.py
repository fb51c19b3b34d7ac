# process.syscall of programs to which it matters where their calls come from: seccomp filters that look at the instruction
# pointer, and syscall user dispatch. They come to no harm, and each call is counted once.
# variants: filter prctl dispatch harmless
from spiletest import *

SCRIPT = r"""global calls, returns
probe process.syscall { if ($syscall == 110) calls++ }
probe process.syscall.return { if ($syscall == 110) returns++ }
probe end { printf("%d %d\n", calls, returns) }"""
REASON = {"filter": "a seccomp filter looks at where", "prctl": "a seccomp filter looks at where",
          "dispatch": "PR_SET_SYSCALL_USER_DISPATCH"}
IN_PROCESS = "system calls are probed in the process"

if VARIANT == "dispatch":
    alone = subprocess.run([program("judged"), VARIANT, "1"], capture_output=True)
    if alone.returncode == 2:
        skip("the kernel has no syscall user dispatch")


def expect_told(result, calls):
    expect_match(f"^{calls} {calls}$", result.out, str(result))
    last = [line for line in result.err.splitlines() if "system calls" in line][-1]
    expect_match(REASON.get(VARIANT, IN_PROCESS), last, str(result))
    expect_true("WARNING" not in result.err, str(result))


# It restricts itself while it is probed: by root, and by its owner, who can't ask for filters.
for user in None, "nobody":
    for script in (SCRIPT, SCRIPT + 'probe process("/nowhere/*").syscall { exit() }',
                   SCRIPT + 'probe process.library("libc.so.6").function("syscall") {}'):
        result = spile("-v", "-e", script, "-c", f"{program('judged')} {VARIANT} 1000", user=user, cwd="/")
        result.expect(out_match="^ready\ndone$", status=0)
        if "nowhere" not in script:
            expect_match(IN_PROCESS, result.err)
            expect_told(result, 6000)
        expect_match("^6000 6000$", result.out, str(result))

# It has done so before.
target = start(program("judged"), VARIANT, 1000, "wait", ready="ready", stdin=subprocess.PIPE)
session = Session("-v", "-e", SCRIPT, "-x", target.pid)
session.wait_message("system calls")
target.stdin.write(b"x")
target.stdin.flush()
expect(target.stdout.readline().decode(), "done\n")
expect(target.wait(10 * PATIENCE), 0)
expect_told(session.wait(), 3000)
