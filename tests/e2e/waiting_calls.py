# Stops are invisible to threads that wait in system calls: each of 49 kinds has the result that it has without spile, and takes
# no longer, while a probed library is loaded again and again, also with all calls reported by ptrace, and while spile attaches,
# arms and removes. Kinds that time out would never end if each stop let their time begin anew. A seccomp filter without
# restart_syscall(2) does no harm; an ordinary user is told no before anything is stopped.
# variants: loaded traced attached killed filtered
import errno
from spiletest import *

program("blocking")
LIBRARY = str(BUILD / "programs/libplugin.so")
STOPS = 100 if LONG_FORM else 20
MS = 10_000 if LONG_FORM else 2_000  # that a call takes
BEGUN = "^Pass 5: starting run"
STEP = f'global n probe process("{LIBRARY}").function("plugin_step") {{ n++ }} probe end {{ printf("steps %d\\n", n) }}'


def begin(*more, ms=MS, every=0, user=None):
    return start(program("blocking"), LIBRARY, ms, 1, every, *more, ready="ready", user=user, stdin=subprocess.PIPE)


def go(target):
    target.stdin.write(b"go\n")
    target.stdin.flush()
    expect(target.stdout.readline().decode(), "begun\n")


def results(target):
    """What each kind of call returned, and how many milliseconds it took."""
    out, _ = target.communicate(timeout=MS / 1000 * 10 * PATIENCE)
    expect(target.returncode, 0, f"the program's status, after {out.decode()}")
    lines = re.findall(r"^(\w+) (-?\d+|unavailable) (\d+) (\d+)$", out.decode(), re.M)
    return {(name, result, error) for name, result, error, _ in lines}, {name: int(took) for name, _, _, took in lines}


def late_calls(target, most):
    """Returns the kinds of calls that took too long. most: so many times as long as without spile a call may take."""
    found, took = results(target)
    # A wake that comes while the thread is stopped has changed the word that it waits for, as at SIGSTOP and SIGCONT.
    found = {("futex_forever", "0", "0") if kind == ("futex_forever", "-1", str(errno.EAGAIN)) else kind for kind in found}
    if VARIANT in ("attached", "killed"):  # a connection that spile has left in its call, and that is not made in time
        late, wanted = (("connect", "-1", str(number)) for number in (errno.EALREADY, errno.EINPROGRESS))
        found = {wanted if kind == late else kind for kind in found}
    expect(sorted(found - alone), [], "results that calls have only with spile")
    expect(sorted(alone - found), [], "results that calls have only without spile")
    unavailable = {name for name, result, _ in alone if result == "unavailable"}
    less = {name: ms for name, ms in took.items() if ms < MS and name not in unavailable}
    expect(less, {}, f"calls that took less than {MS} ms")
    if LONG_FORM:
        print(f"{VARIANT}: calls of {MS} ms took up to", max(took.values()), "ms")
    return {name for name, ms in took.items() if ms > most * MS}


target = begin(ms=100)
go(target)
alone, _ = results(target)
expect_true(len(alone) >= 45, f"kinds of calls: {sorted(alone)}")


def late_kinds():
    late = set()
    if VARIANT in ("loaded", "traced"):
        target = begin(every=MS // STOPS)
        calls = "probe process.syscall { calls++ } global calls"
        session = Session("-v", "-e", STEP + (calls if VARIANT == "traced" else ""), "-x", target.pid).wait_message(BEGUN)
        go(target)
        late |= late_calls(target, 1.5)
        steps = int(re.search(r"^steps (\d+)$", session.wait().expect(status=0).out, re.M)[1])
        expect_true(steps > STOPS / 2, f"steps of the library: {steps}")
    if VARIANT == "attached":
        target = begin()
        go(target)
        for _ in range(STOPS // 4):  # each stops it some times
            ends = 'probe process.function("load") { exit() } probe timer.ms(20) { exit() }'
            spile("-e", ends, "-x", target.pid).expect(status=0)
        late |= late_calls(target, 2.5)
    if VARIANT == "killed":  # nothing is left of what it has done for the calls; they take their time once more
        target = begin(every=MS // STOPS)
        session = Session("-v", "-e", STEP, "-x", target.pid).wait_message(BEGUN)
        go(target)
        time.sleep(MS / 2000)
        session.stop(signal.SIGKILL)
        late |= late_calls(target, 2.5)
    if VARIANT == "filtered":
        target = begin("filter")
        go(target)
        spile("-e", STEP, "-x", target.pid, user="nobody", cwd="/").expect(status=1)
        late |= late_calls(target, 1.5)
        target = begin("filter", user="nobody")
        go(target)
        spile("-e", STEP, "-x", target.pid, user="nobody", cwd="/").expect(status=1, err_match="seccomp filter.*may kill it")
        late |= late_calls(target, 1.5)
        target = begin("filter", every=MS // STOPS)
        go(target)
        session = Session("-v", "-e", STEP, "-x", target.pid).wait_message(BEGUN)
        late |= late_calls(target, 2)
        session.wait().expect(status=0)
    return late


# A time-out that begins anew does so each time; on a busy machine a thread may wait for its turn.
late = late_kinds()
expect(late and late & late_kinds(), set(), f"kinds of calls of {MS} ms that took longer, twice")
