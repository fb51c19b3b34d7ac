# spile is killed while handlers meet thousands of bad pointers a second: the program lives. Its own bad pointers end it as ever,
# and its own handlers for SIGSEGV work, while spile is there, after it was killed, and after it has gone.
# variants: one two programs ends handlers
import ctypes
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
import kill_campaign

SEED = 1
SCRIPT = """global bad probe process.function("follow") { try { bad += $node->value } catch { if (bad++ == 100) println("met") } }
probe end { printf("bad %d\\n", bad > 0) }"""


class Target:
    def __init__(self, threads=2, name="bad_pointers"):
        self.process = start(program(name), threads, ready="ready", stdin=subprocess.PIPE)
        self.pid = self.process.pid

    def say(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, word):
        self.say(word)
        return self.process.stdout.readline().decode().strip()

    def wait_handled(self):
        handled = lambda: int(re.search(r"^SigCgt:\s+(\w+)", pathlib.Path(f"/proc/{self.pid}/status").read_text(), re.M)[1], 16)
        wait_until(lambda: handled() >> signal.SIGSEGV - 1 & 1, 60, "an action for SIGSEGV")

    def end(self):
        self.process.stdin.close()
        expect_match(r"^calls \d+ wrong 0$", self.process.stdout.read().decode(), "the program's own account")
        expect(self.process.wait(20 * PATIENCE), 0, "the program's status")

    def attach(self):
        return Session("-e", SCRIPT, "-x", self.pid).wait_output("^met$")

    def stop(self, session):
        session.stop().expect(out="met\nbad 1\n", status=0)
        expect_untouched(self.pid)


def kill(session):
    session.process.kill()
    session.process.wait()


def one():
    expect(kill_campaign.bad_pointers(25, 1, SEED), 0, f"programs harmed, with the seed {SEED}")


def two():
    expect(kill_campaign.bad_pointers(12, 2, SEED), 0, f"programs harmed, with the seed {SEED}")


def programs():
    """One without a dynamic linker; children, which have what their parents had."""
    target = Target(name="bad_pointers_static")
    for _ in range(10):
        kill(target.attach())
        wait_turns(target.pid)
        expect(target.process.poll(), None, "the program's status")
    target.stop(target.attach())
    target.end()

    path = program("bad_pointers")
    shell = start("sh", stdin=subprocess.PIPE)
    session = Session("-e", SCRIPT.replace("process", f'process("{path}")'), "-x", shell.pid)
    session.attached(shell.pid)
    inputs = [temporary_directory() / "input" for _ in range(2)]
    for each in inputs:
        os.mkfifo(each)
    shell.stdin.write(f"'{path}' 2 < {inputs[0]}; '{path}' 1 < {inputs[1]}; echo $?\n".encode())
    shell.stdin.flush()
    with open(inputs[0], "w"):
        session.wait_output("^met$")
        kill(session)
        expect(shell.stdout.readline().decode(), "ready\n")
    # The second begins when the first has ended, with its parent's handlers.
    with open(inputs[1], "w"):
        expect_match(r"^calls \d+ wrong 0$", shell.stdout.readline().decode(), "what the first program says")
        expect(shell.stdout.readline().decode(), "ready\n")
        wait_turns(children(shell.pid)[0])
    out, _ = shell.communicate(b"exit\n", timeout=300)
    expect_match(r"^calls \d+ wrong 0\n0\n\Z", out.decode(), "what the second program says")


# ---- how it ends -------------------------------------------------------------------------------------------------

class SignalInfo(ctypes.Structure):
    _fields_ = [("signal", ctypes.c_int), ("error", ctypes.c_int), ("code", ctypes.c_int), ("pad", ctypes.c_int),
                ("address", ctypes.c_ulong),
                ("rest", ctypes.c_char * 104)]


def signals_of(pid, say):
    """What a debugger sees of a program's SIGSEGVs, up to its end by one: code and address of each, and how it ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    seize, interrupt, resume, get_info = 0x4206, 0x4207, 7, 0x4202
    expect(libc.ptrace(seize, pid, None, None), 0, "PTRACE_SEIZE")
    say()
    seen = []
    while True:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return seen, os.WTERMSIG(status)
        delivered = os.WSTOPSIG(status) if status >> 16 == 0 else 0
        info = SignalInfo()
        expect(libc.ptrace(get_info, pid, None, ctypes.addressof(info)), 0, "PTRACE_GETSIGINFO")
        if delivered == signal.SIGSEGV:
            seen.append((info.code, info.address))
        libc.ptrace(resume, pid, None, delivered)


def ends():
    for word in "fault", "deep", "send":
        # While spile is there, after it was killed, after it has gone.
        for when in range(3):
            target = Target(1)
            session = target.attach()
            if when == 1:
                kill(session)
            if when == 2:
                target.stop(session)
            target.say(word)
            expect(target.process.wait(20 * PATIENCE), -signal.SIGSEGV, f"status after {word}, case {when}")
            if when == 0:
                session.wait().expect(out="met\nbad 1\n", status=0)
    # What made it end is still to be seen, though a handler of ours has had it first.
    for word, code in ("fault", 1), ("send", 0):
        target = Target(0)
        probed = Target(1)
        expect(signals_of(target.pid, lambda: target.say(word))[1], signal.SIGSEGV, "the signal")
        kill(probed.attach())
        # The action is the default one by then: another thread's bad pointer in that moment would end the program first.
        expect(probed.ask("still"), "still")
        seen, status = signals_of(probed.pid, lambda: probed.say(word))
        expect(status, signal.SIGSEGV, "the signal")
        expect(len(seen), 2, "signals: before our handler, and after it")
        expect(seen[0], seen[1], "what it is told by")
        expect(seen[1][0], code, "its si_code")
        if word == "fault":
            expect(seen[1][1], 8, "its address")


def handlers():
    # Nothing is set before there is a bad pointer, and nothing stays.
    target = Target(0)
    session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
    expect(target.ask("ask"), "default", "the action before a bad pointer")
    session.stop().expect(out="bad 0\n", status=0)
    target.end()

    # Set by the program before, while and after ours is there.
    target = Target()
    session = target.attach()
    expect(target.ask("ask"), "another", "the action after a bad pointer")
    target.stop(session)
    expect(target.ask("ask"), "default", "the action when spile has gone")
    for _ in range(2):
        session = target.attach()
        expect(target.ask("handle"), "handled 100")
        expect(target.ask("handle"), "handled 100")
        target.stop(session)
        expect(target.ask("handle"), "handled 100")
        session = target.attach()
        expect(target.ask("handle"), "handled 100")
        expect(target.ask("default"), "done")
        target.wait_handled()  # by spile, again; a program that takes the action away while spile dies is not saved
        kill(session)
        wait_turns(target.pid)
        expect(target.ask("handle"), "handled 100")
        expect(target.ask("default"), "done")
        target.stop(target.attach())
        expect(target.ask("ask"), "default", "the action when spile has gone")
    target.end()


{"one": one, "two": two, "programs": programs, "ends": ends, "handlers": handlers}[VARIANT]()
