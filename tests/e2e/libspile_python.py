# libspile from Python: a session that is stopped leaves its process as it was; a process that ends; a spile that is killed is an
# error, and what was read holds; a program that is killed takes its spile along; a program that does not read loses events, which
# are counted, and neither the process nor the run waits for it.
# long
from libspile_install import *

os.environ.update(ENVIRONMENT)
sys.path.insert(0, ENVIRONMENT["PYTHONPATH"])
import threading
import spile as library  # spiletest has a function spile

calls, target = command_line(program("calls")), server()
COUNT = 'global n probe process.function("work") { n++ }'

with library.run(COUNT + ' probe timer.ms(10) { printf("%d %s\\n", 7, execname()) } probe end { println("end") }', pid=target.pid) as session:
    event = next(session)
    expect((event.text, event.values, str(event)), ("7 spile\n", (7, "spile"), "7 spile\n"))
    expect((event.process, event.thread, event.probe), (0, None, "timer.ms(10)"))
    expect_true(abs(event.time_ns / 1e9 - time.time()) < 10, event)
    first = session.globals["n"]
    wait_until(lambda: session.globals["n"] > first, 60, "more calls")
    expect_true(session.read().is_final is False, "it runs")
    begin = time.monotonic()
    while session.next(0) is not None:
        pass
    expect_true(session.next(float("inf")).text.startswith("7 ") and session.next(1e300) is not None and session.next() is not None, "waits without end")
    while session.next(-5) is not None:
        pass
    expect((time.monotonic() - begin < 30, session.has_ended), (True, False), "a time below 0 waits for nothing")
    session.stop()
    expect([e.text for e in session][-1], "end\n")
    end = session.read()
    expect((end.is_final, end.probes[0].hits, end.skipped, end.lost_records), (True, end.globals["n"], 0, 0))
expect_untouched(target.pid)
expect(children(os.getpid()), [target.pid], "children")

# Values: keys of several kinds, texts of any bytes, an empty array, statistics in an array.
with library.run('global a, none, b, c probe begin { a[1, "x\\377"] = "v\\377" a[2, ""] = "" b["k"] <<< 5 b["k"] <<< 7 c = -1 exit() none["x"] = 1 delete none["x"] }') as session:
    expect(list(session), [])
    found = session.globals
    expect((found["a"], found["none"], found["c"]), ({(1, "x\udcff"): "v\udcff", (2, ""): ""}, {}, -1))
    one = found["b"]["k"]
    expect((one.count, one.sum, one.min, one.max, one.average), (2, 12, 5, 7, 6.0))

# The process ends by itself; a script in a file, with arguments.
folder = temporary_directory()
(folder / "foo.stp").write_text('probe process.function(@1) {\n  println($arg)\n}\n')
with library.run(file=folder / "foo.stp", arguments=["foo"], command=f"{calls} 3") as session:
    found = list(session)
    expect([e.text for e in found], ["0\n", "1\n", "2\n"])
    expect_true(len({e.process for e in found} - {0}) == 1, "one process")
    expect(session.messages, [])
with library.run("probe begin { }", command="exit 5") as session:
    expect((list(session), [m.text for m in session.messages if m.is_warning]), ([], ["Child process exited with status 5"]))
(folder / "foo.stp").write_text('probe begin {\n  println(x y)\n}\n')
try:
    library.run(file=folder / "foo.stp")
    fail("a wrong script has run")
except library.ScriptError as error:
    expect((error.file, error.line, error.code), (str(folder / "foo.stp"), 2, -5))
for wrong, kind in [(dict(script=COUNT, pid=2**31 - 1), library.Error), (dict(script="x" * 200_000), library.Error), (dict(script="a\0b"), ValueError), ({}, library.Error)]:
    try:
        library.run(**wrong)
        fail(f"{wrong} has run")
    except kind:
        pass

# Stopped while it compiles: neither the start nor the end waits for that. With a process, so that no uprobe is put into others'
# redis.
session = library.Session()
library._library.spile_add_process(session._session, target.pid)
library._library.spile_set_script(session._session, b'global n probe process("' + installed("redis-server").encode() + b'").function("*") { n[ppfunc()]++ }')
results = []
starting = threading.Thread(target=lambda: results.append(library._library.spile_start(session._session)))
starting.start()
wait_until(lambda: len(children(os.getpid())) == 2, 60, "a spile that compiles")
session.stop()
starting.join(60)
expect_true(results in ([0], [2]), f"spile_start() has returned {results}")
expect(list(session), [])
session.close()
expect(children(os.getpid()), [target.pid])

# spile is killed.
session = library.run(COUNT + ' probe timer.ms(10) { println("tick") }', pid=target.pid)
expect((next(session).text, session.globals["n"] > 0), ("tick\n", True))
tracer = next(pid for pid in children(os.getpid()) if pid != target.pid)
os.kill(tracer, signal.SIGKILL)
for action in (lambda: list(session), lambda: list(session), session.read):
    try:
        action()
        fail("a killed spile went unnoticed")
    except library.Error as error:
        expect(error.code, -8)
        expect_match(r"was killed by signal 9", error.text)
session.close()
expect((target.poll(), children(os.getpid())), (None, [target.pid]))

# The program is killed: its spile restores the process, and ends.
user = subprocess.Popen([sys.executable, "-B", "-c", f"import spile, time\ns = spile.run('''{COUNT}''', pid={target.pid})\nprint('armed', flush=True)\ntime.sleep(1000)"], stdout=subprocess.PIPE)
expect(user.stdout.readline(), b"armed\n")
tracer = children(user.pid)[0]
user.kill()
user.wait()
wait_until(lambda: not pathlib.Path(f"/proc/{tracer}").exists() or state(tracer) == "Z", 60, "the end of its spile")
expect_untouched(target.pid)

# Nobody reads: what came is kept up to a bound, the rest is lost, and counted; the command is not kept waiting.
text = "x" * 400
N = 300_000
with library.run(f'global n probe process.function("foo") {{ n++ printf("%d %s {text}%d\\n", $arg, sprintf("%d{text}", $arg * 7919), n) }}', command=f"{calls} {N}", options=["-s64"]) as session:
    time.sleep(0.1)
    read = sum(1 for event in session if event.values[0] >= 0)
    end = session.read()
    expect((end.globals["n"], end.is_final), (N, True))
    expect(read + end.lost_records + end.dropped_events, N, f"events read, {end.lost_records} lost")
expect(children(os.getpid()), [target.pid])

# The other end's option.
spile("record", "--stream", 9, "-e", "probe begin { }").expect(status=1, out="", err_match="--stream 9: not a stream socket")
spile("record", "--stream", 2, "-e", "probe begin { }").expect(status=1, err_match="invalid descriptor '2'")
ours, theirs = socket.socketpair()
with ours, theirs:
    result = subprocess.run([SPILE, "--stream", str(theirs.fileno()), "-e", "probe begin { }"], pass_fds=[theirs.fileno()], capture_output=True)
    expect((result.returncode, result.stderr, ours.recv(8)), (1, b"", b"SPILERUN"))
