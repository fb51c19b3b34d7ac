# The verbs that print tables: counts equal what programs do, times are within what is known of them, JSON Lines, the live table's keys on a terminal, wrong words.
# variants: top lat activity stacks live wrong
import fcntl, json, pty, termios, threading
from spiletest import *


def rows(result):
    return [json.loads(line) for line in result.out.splitlines() if line.startswith("{")]


def one(result, **wanted):
    found = [row for row in rows(result) if all(row[name] == value for name, value in wanted.items())]
    expect(len(found), 1, f"rows of {wanted} in {result.out}")
    return found[0]


def top():
    calls = program("calls")
    result = spile("top", "foo", "--json", "-c", f"{calls} 1000 2").expect(status=0, err="")
    row = one(result, function="foo")
    expect(row["calls"], 2000)
    expect_true(row["p50_ns"] <= row["p99_ns"] * 1.01 and row["p99_ns"] <= row["max_ns"] * 1.01 and 0 < row["avg_ns"] <= row["max_ns"] and row["total_ns"] >= row["max_ns"], row)
    text = spile("top", "*", "!foo", "--limit", "1", "-c", f"{calls} 10").expect(status=0, err="").out
    expect_match(r"function +calls +calls/s +total +avg +p50 +p99 +max\n", text)
    expect_true(not re.search("^foo ", text[text.index("function "):], re.M) and re.search(r"^\.\.\. and \d+ more \(--limit\)$", text, re.M), text)
    names = [line.split()[0] for line in spile("top", "f*", "--sort", "function", "-c", f"{calls} 10").expect(status=0).out.splitlines()[2:]]
    names = names[names.index("function") + 1:] if "function" in names else names
    expect(names, sorted(names))
    # Callers: main() calls fibonacci(15) once, which makes all other calls itself; each of two threads calls foo() from run().
    result = spile("top", "fibonacci", "foo", "--callers", "--json", "-c", f"{calls} 100 2").expect(status=0, err="")
    expect(one(result, function="fibonacci")["callers"], [{"function": "fibonacci", "calls": 1972}, {"function": "main", "calls": 1}])
    expect(one(result, function="foo")["callers"], [{"function": "run", "calls": 200}])
    expect_match(r"^fibonacci +1,973 .*\n +1,972  from fibonacci\n +1  from main$", spile("top", "fibonacci", "--callers", "-c", f"{calls} 1").expect(status=0, err="").out)
    # Tables of intervals add up to what was called.
    target = start(program("server"), 60, ready="ready")
    session = Session("top", "work", "--every", "200ms", "--json", "-x", target.pid, "-T", "2").wait()
    session.expect(status=0, err="")
    expect_true(len(rows(session)) >= 5, session.out)
    expect_true(all(row["calls_per_second"] > 0 for row in rows(session)), session.out)


def lat():
    calls = program("calls")
    result = spile("lat", "foo", "--json", "-c", f"{calls} 1000").expect(status=0, err="")
    row = rows(result)[0]
    expect(row["calls"], 1000)
    expect(sum(bucket["count"] for bucket in row["buckets"]), 1000)
    expect_match(r" +ns +count +%\nn=1,000 min=", spile("lat", "foo", "-c", f"{calls} 1000").expect(status=0).out)
    # foo(i) from 0 to 9, each value once in each of three threads.
    by = rows(spile("lat", "foo", "--by", "$arg", "--json", "-c", f"{calls} 10 3").expect(status=0, err=""))
    expect(sorted((int(row["value"]), row["calls"]) for row in by), [(i, 3) for i in range(10)])
    target = start(program("server"), 60, ready="ready")
    heat = Session("lat", "work", "--every", "200ms", "-x", target.pid, "-T", "2").wait()
    heat.expect(status=0, err="")
    expect_match(r"time +calls +p50 +p99 +max +1us +1ms +1s *\n", heat.out)
    expect_true(len(re.findall(r"^\d\d:\d\d:\d\d +[\d,]{4,} .*█", heat.out, re.M)) >= 3, heat.out)


def activity():
    causes = program("causes")
    run = f"{causes} pieces 500"  # each reads 2 pieces of 3 bytes from /dev/zero, and writes them to /dev/null
    result = spile("files", "--json", "--limit", "1000", "-c", run).expect(status=0, err="")
    zero, null = one(result, file="/dev/zero"), one(result, file="/dev/null")
    expect((zero["opens"], zero["read_bytes"], zero["writes"]), (1, 3000, 0))
    expect((null["opens"], null["written_bytes"], null["reads"]), (1, 3000, 0))
    calls = spile("syscalls", "--json", "--limit", "1000", "-c", f"{causes} brk 300").expect(status=0, err="")
    expect_true(300 <= one(calls, call="brk")["calls"] <= 310, calls.out)
    # Three files are not there, and a directory can't be written.
    command = f"for i in 1 2 3; do [ -e {temporary_directory()}/$i ]; done; cat < /dev/null > /proc; :"
    failed = spile("errno", "--json", "--limit", "1000", "-c", f"sh -c '{command}' 2>/dev/null").expect(status=0, err="")
    absent = [row for row in rows(failed) if row["error"] == "ENOENT" and "stat" in row["call"]]
    expect_true(sum(row["count"] for row in absent) >= 3 and all(row["meaning"] == "No such file or directory" for row in absent), failed.out)
    expect_true(any(row["error"] == "EISDIR" for row in rows(failed)), failed.out)
    text = spile("errno", "-c", f"cat {temporary_directory()}/absent 2>/dev/null; :").expect(status=0).out
    expect_match(r"call +error +count +meaning\n", text)


def stacks():
    # CPython, and 50 blocks that nobody frees.
    code = "import ctypes; malloc = ctypes.CDLL(None).malloc; free = ctypes.CDLL(None).free; free.argtypes = [ctypes.c_void_p]; malloc.restype = ctypes.c_void_p; " \
           "blocks = [malloc(77777) for i in range(50)]; [free(malloc(66666)) for i in range(50)]"
    result = spile("leaks", "--json", "-c", f"/usr/bin/python3 -c '{code}'").expect(status=0, err="")
    lost = [row for row in rows(result) if row["bytes"] == 50 * 77777]
    expect((len(lost), lost[0]["blocks"]), (1, 50), result.out)
    expect_true(any("ffi_call" in frame for frame in lost[0]["stack"]) and "66666" not in result.out, lost)
    # A mutex that another thread holds for 3 ms, 20 times.
    result = spile("locks", "--json", "-c", f"{program('causes')} mutex 20").expect(status=0, err="")
    mutex = [row for row in rows(result) if any("pthread_mutex_lock" in frame for frame in row["stack"])]
    expect(sum(row["waits"] for row in mutex), 20, result.out)
    expect_true(sum(row["total_ns"] for row in mutex) >= 30_000_000, mutex)


def live():
    target = start(program("server"), 120, ready="ready")
    folder = temporary_directory()
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)[3]
    session = subprocess.Popen([SPILE, "top", "work", "main", "--callers", "--every", "100ms", "-x", str(target.pid)], stdin=slave, stdout=slave, stderr=slave, cwd=folder,
                               env={**os.environ, "LC_ALL": "C.UTF-8"}, start_new_session=True)
    seen = ""

    def read(terminal):
        nonlocal seen
        while True:
            text = os.read(terminal, 65536).decode(errors="replace")
            if terminal == master:
                seen += text

    threading.Thread(target=read, args=(master,), daemon=True).start()

    def wait(pattern):
        wait_until(lambda: re.search(pattern, seen), 60, pattern, lambda: repr(seen[-2000:]))

    def press(keys, pattern):
        nonlocal seen
        seen = ""
        os.write(master, keys)
        wait(pattern)

    wait(r"\x1b\[\?1049h")
    wait(r"(?s)spile top  \d\d:\d\d:\d\d  by calls.*work +[▁▂▃▄▅▆▇█]+ +[\d,]+")
    press(b"s", "by calls/s")
    press(b"p", "paused")
    press(b"p", r"by calls/s\x1b\[K\r\n")
    press(b"/nothing\n", r"(?s)/nothing.*0 of 1 rows")
    press(b"/\x1b", r"1 of 1 rows")
    press(b"\x1b[B", r"> work ")
    press(b"c", r"(?s)callers of work \(c: back\).* calls +% +caller.*[\d,]+ +100  \w+\x1b")
    press(b"c", r"> work ")
    press(b"\x1b[C", "spile top")  # other arrows mean nothing
    press(b"w", r"written to spile-top-1\.txt")
    expect_match(r"function +calls.*\nwork +[\d,]+", (folder / "spile-top-1.txt").read_text())
    press(b"q", r"\x1b\[\?1049l")
    wait(r"work +[\d,]+ +[\d,]+ ")
    expect(session.wait(60), 0, "the status")
    expect(termios.tcgetattr(slave)[3], before, "the terminal's local modes")
    # A job in the background prints lines, and is not stopped for want of the terminal.
    master, slave = pty.openpty()
    background = subprocess.Popen(["sh", "-m", "-c", f"'{SPILE}' top work --every 100ms -x {target.pid} & wait"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    seen = ""
    threading.Thread(target=read, args=(master,), daemon=True).start()
    wait(r"function +calls.*\r\nwork +[\d,]+")
    expect_true("\x1b[?1049h" not in seen, repr(seen))
    os.kill(children(background.pid)[0], signal.SIGINT)
    background.wait(60)
    expect_untouched(target.pid)


def wrong():
    for words, message in [
        (["top"], "top needs the name or pattern of a function"),
        (["top", "foo"], "top needs the processes to look at"),
        (["top", "foo", "--sort", "x", "-c", "true"], "--sort x: no column has this head"),
        (["top", "nothing_like_this", "-c", program("calls")], "nothing_like_this"),
        (["top", "foo", "!f*", "-c", program("calls")], "all functions that match are left out"),
        (["top", "foo", "--every", "1", "-c", "true"], "--every 1: not a time"),
        (["top", "foo", "--every", "1ms", "-c", "true"], "--every 1ms: not from 10ms"),
        (["top", "foo", "--limit", "0", "-c", "true"], "--limit 0: not a number from 1"),
        (["lat", "foo", "--sort", "calls", "-c", program("calls")], "--sort is for the table of --by"),
        (["lat", "foo", "--by", "$none", "-c", f"{program('calls')} 1"], "$none"),
        (["syscalls", "read", "-c", "true"], "syscalls takes no words, such as 'read'"),
        (["files"], "files needs the processes to look at"),
        (["leaks", "--by", "x", "-c", "true"], "spile leaks has no option --by"),
    ]:
        result = spile(*words).expect(status=1, out="")
        expect_true(message in result.err, f"{message} in {result.err}")
    script = spile("--script", "locks", "-x", os.getpid()).expect(status=0).out
    expect_match(r"(?s)# spile locks\nglobal waits.*probe syscall\.futex\.return", script)


{"top": top, "lat": lat, "activity": activity, "stacks": stacks, "live": live, "wrong": wrong}[VARIANT]()
