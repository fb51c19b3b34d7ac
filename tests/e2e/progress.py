# What a user at a terminal sees before there is output: what spile does when that takes long, then what is armed and how to end
# it. Nothing of it elsewhere, nor with -w.
# long
import pty, threading
from spiletest import *

target = start(program("server"), 120, ready="ready")


def errors_of(*arguments, interrupt_after=None):
    """What spile writes to a terminal that is its standard error."""
    master, slave = pty.openpty()
    session = subprocess.Popen(spile_words(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, start_new_session=True)
    os.close(slave)
    seen = ""

    def read():
        nonlocal seen
        try:
            while data := os.read(master, 65536):
                seen += data.decode()
        except OSError:
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    if interrupt_after:
        wait_until(lambda: re.search(interrupt_after, seen), 60, interrupt_after, lambda: repr(seen))
        session.send_signal(signal.SIGINT)
    expect(session.wait(60 * PATIENCE), 0, f"the status, after {seen!r}")
    reader.join(60)
    return seen


def read_or_end(fd):
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


seen = errors_of("-e", 'global n probe process.function("work"), process.function("work").return, timer.s(100) { n++ } probe end { println(n) }', "-x", target.pid,
                 interrupt_after="Ctrl-C ends")
expect_match(rf"spile: armed 2 places in server \({target.pid}\), paused [\d.]+ [um]s; Ctrl-C ends\r\n\Z", seen)
# A compilation that takes longer. The number is another one each time: what was compiled once comes from the cache.
many = "global a, never\n" + "".join(f'function f{i}(x) {{ for (i = 0; i < x; i++) a[i + {i}] += x * i % {i + 3}; return a[x] }}\n' for i in range(400))
many += f'probe process.function("work") {{ if (!never) exit() else {{ x = never + {time.time_ns()} ' + " ".join(f"x += f{i}(x)" for i in range(400)) + " } }"
slow = errors_of("-e", many, "-x", target.pid)
expect_match(r"\rspile: compiling(, \d+ s)?\x1b\[K\r", slow)
expect("armed" in slow, False, slow)
# Scripts that end by themselves, a moment after their probes are armed: -T counts from the start on, which takes as long as a
# busy machine lets it.
SOON = " probe timer.ms(100) { exit() }"
for arguments in (["-w"], ["-v"]):
    seen = errors_of(*arguments, "-e", 'global n probe process.function("work") { n++ }' + SOON, "-x", target.pid)
    expect("Ctrl-C" in seen or "\x1b" in seen, False, seen)
spile("-e", 'global n probe process.function("work") { n++ }' + SOON, "-x", target.pid).expect(status=0, err="")
expect_untouched(target.pid)

# Ctrl-C at any moment: nothing is left, though another thread prints meanwhile. All of an interpreter's functions take longer
# than the patience of that thread.
interpreter = start("/usr/bin/python3", "-u", "-c", "import time\nprint('ready')\nwhile True: time.sleep(0.001)", ready="ready")
compiled("-e", 'global n probe process.function("*") { n++ }' + SOON, "-x", interpreter.pid)
began = time.monotonic()
errors_of("-e", 'global n probe process.function("*") { n++ }' + SOON, "-x", interpreter.pid)
whole = time.monotonic() - began - 0.1
for i in range(12):
    master, slave = pty.openpty()
    session = subprocess.Popen([SPILE, "-e", 'global n probe process.function("*") { n++ }', "-x", str(interpreter.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                               start_new_session=True)
    os.close(slave)
    threading.Thread(target=lambda fd=master: [None for _ in iter(lambda: read_or_end(fd), b"")], daemon=True).start()
    time.sleep(whole * (i + 1) / 12)
    session.send_signal(signal.SIGINT)
    expect_true(session.wait(60 * PATIENCE) in (0, 1, 130, -signal.SIGINT), f"status {session.returncode}")
    wait_turns(interpreter.pid)
    expect_untouched(interpreter.pid)
