# The verbs that print tables: counts equal what programs do, times are within what is known of them, JSON Lines, the live table's
# keys on a terminal, wrong words.
# variants: top lat activity stacks live wrong
# long
import fcntl, json, pty, struct, termios, threading
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
    # Functions of a library; and where a function is that the program does not have.
    calls_library = "/usr/bin/python3 -c 'import ctypes; libc = ctypes.CDLL(\"libc.so.6\"); [libc.l64a(1) for i in range(1000)]'"
    expect(one(spile("top", "libc.so.6:l64a", "libc.so.6:a64*", "--json", "-c", calls_library).expect(status=0, err=""), function="l64a")["calls"], 1000)
    expect(one(spile("top", "libc.so.6:*64*", "!a64l", "--json", "-c", calls_library).expect(status=0), function="l64a")["calls"], 1000)
    expect_match(r"^n=1,000 ", spile("lat", "libc.so.6:l64a", "-c", calls_library).expect(status=0, err="").out)
    expect(len(re.findall(r"\bl64a\(", spile("trace", "libc.so.6:l64a", "-c", calls_library).expect(status=0).out)), 1000, "calls traced")
    expect(spile("snap", "libc.so.6:l64a", "--when", "libc.so.6:l64a if $n == 1", "-o", "/dev/null", "-c", calls_library).status, 0)
    spile("lat", "l64a", "-c", calls_library).expect(status=1, err_match=r"no function 'l64a' in .*python.*\n  hint: a library has l64a: 'libc.so.6:l64a'")
    spile("lat", "libc.so.6:", "-c", calls_library).expect(status=1, err_match="names a library, and no function in it")
    # Rates are of the time in which all processes were armed, which takes a while where functions are many. On a busy machine the
    # program calls less in one part of a second than in another: one of some runs has to be as it is where nothing disturbs it.
    target = start(program("server"), 60, ready="ready")
    for _ in range(6):
        row = one(Session(*compiled("top", "*", "--json", "-x", target.pid, "-T", "1")).wait().expect(status=0), function="work")
        as_wanted = 0.8 * row["calls"] < row["calls_per_second"] < 1.4 * row["calls"]
        if as_wanted:
            break
    expect_true(as_wanted, row)
    # Tables of intervals add up to what was called.
    target = start(program("server"), 60, ready="ready")
    session = Session("top", "work", "--every", "200ms", "--json", "-x", target.pid).wait_output(r"(?s)(^\{.*){5}").stop()
    session.expect(status=0, err="")
    times = [row["time"] for row in rows(session)]
    expect_true(len(set(times)) == len(times) and all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times), times)
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
    # More values than there is room for: the others are counted, and end nothing.
    by = spile("lat", "foo", "--by", "$arg", "--json", "-c", f"{calls} 5000").expect(status=0, err_match=r"^WARNING: 904 updates lost, array full \(spile --script lat \.\.\. prints")
    expect((len(rows(by)), {row["calls"] for row in rows(by)}), (4096, {1}))
    spile("lat", "foo", "--by", "1 / $arg", "-c", f"{calls} 3").expect(status=0, err_match="WARNING: 1 hit left out: division by 0 near")
    target = start(program("server"), 60, ready="ready")
    line = r"^\d\d:\d\d:\d\d\.\d\d\d +[\d,]{4,} .*█"
    heat = Session("lat", "work", "--every", "200ms", "-x", target.pid).wait_output(rf"(?s)({line}.*){{3}}").stop()
    heat.expect(status=0, err="")
    expect_match(r"time +calls +p50 +p99 +max +1us +1ms +1s *\n", heat.out)
    # The end that comes right behind a line, or a table, adds none that is empty.
    quiet = start(program("sleeper"), 100, ready="ready", stdin=subprocess.PIPE)
    still = Session(*compiled("lat", "work", "--every", "1s", "-x", quiet.pid, "-T", "3.05")).wait()
    expect_true(2 <= len(still.expect(status=0, err="").out.splitlines()) <= 1 + 3, still.out)
    still = Session(*compiled("syscalls", "--every", "1s", "-x", quiet.pid, "-T", "3.05")).wait()
    expect_true(1 <= still.expect(status=0, err="").out.count("no system call has returned") <= 3, still.out)


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
    # A descriptor that is used anew is not what it was at the begin.
    first, second = temporary_directory() / "first", socket.socket()
    first.write_text("x")
    second.bind(("127.0.0.1", 0))
    second.listen()
    code = f"import os, socket, sys; fd = os.open('{first}', os.O_RDONLY); print('ready', flush=True); sys.stdin.readline(); os.read(fd, 1); os.close(fd); " \
           f"s = socket.create_connection(('127.0.0.1', {second.getsockname()[1]})); assert s.fileno() == fd; s.send(b'12345'); print('sent', flush=True); sys.stdin.readline()"
    reuses = start("/usr/bin/python3", "-c", code, ready="ready", stdin=subprocess.PIPE)
    session = Session("-v", "files", "--json", "-x", reuses.pid).wait_message("system calls are probed in the process")
    reuses.stdin.write(b"\n")
    reuses.stdin.flush()
    expect(reuses.stdout.readline(), b"sent\n")
    result = session.stop().expect(status=0)
    expect((one(result, file=str(first))["read_bytes"], one(result, file=str(first))["written_bytes"]), (1, 0), result.out)
    expect([row["written_bytes"] for row in rows(result) if row["file"].startswith("socket:")], [5], result.out)
    # The last of several sockets in turn does not stand for all.
    (folder := temporary_directory()).joinpath("sends.py").write_text(
        "import socket\nprint('ready', flush=True)\ninput()\nfor i in range(4):\n"
        f"    s = None\n    s = socket.create_connection(('127.0.0.1', {second.getsockname()[1]}))\n    s.send(b'1234567')\nprint('sent', flush=True)\ninput()\n")
    sends = start("/usr/bin/python3", folder / "sends.py", ready="ready", stdin=subprocess.PIPE)
    session = Session("-v", "files", "--json", "-x", sends.pid).wait_message("system calls are probed in the process")
    sends.stdin.write(b"\n")
    sends.stdin.flush()
    expect(sends.stdout.readline(), b"sent\n")
    result = session.stop().expect(status=0)
    expect([row["written_bytes"] for row in rows(result) if row["file"].startswith("descriptor")], [28], result.out)
    text = spile("errno", "-c", f"cat {temporary_directory()}/absent 2>/dev/null; :").expect(status=0).out
    expect_match(r"call +error +count +meaning\n", text)
    # A stack of 40 calls is whole; one of more than 4096 characters is not, and that is said.
    deep = temporary_directory() / "deep.c"
    deep.write_text("""#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int a_function_with_a_long_name(int n) {
  int got = n ? a_function_with_a_long_name(n - 1) : close(-1);
  __asm__ volatile("" : "+r"(got));
  return got;
}
int main(int argc, char** argv) { return a_function_with_a_long_name(atoi(argv[1])) + 1; }
""")
    subprocess.run([installed("gcc"), "-g", "-O1", "-o", deep.with_suffix(""), deep], check=True)
    cut = r"^WARNING: the outer callers of 1 stacks are not shown: they are longer than MAXSTRINGLEN$"
    for calls, warning in (40, ""), (125, cut):
        result = spile("errno", "--json", "-c", f"{deep.with_suffix('')} {calls}").expect(status=0, err_match=warning)
        stack = one(result, call="close", error="EBADF")["stack"]
        names = "\n".join(stack) if isinstance(stack, list) else stack
        shown = names.count("a_function_with_a_long_name")
        expect_true(60 < shown < calls if warning else shown == calls + 1 and "main" in names, f"{shown} of {calls}: {names}")


def stacks():
    # CPython, and 50 blocks that nobody frees.
    code = "import ctypes; malloc = ctypes.CDLL(None).malloc; free = ctypes.CDLL(None).free; free.argtypes = [ctypes.c_void_p]; malloc.restype = ctypes.c_void_p; " \
           "blocks = [malloc(77777) for i in range(50)]; [free(malloc(66666)) for i in range(50)]"
    result = spile("leaks", "--json", "-c", f"/usr/bin/python3 -c '{code}'").expect(status=0, err="")
    lost = [row for row in rows(result) if row["bytes"] == 50 * 77777]
    expect((len(lost), lost[0]["blocks"]), (1, 50), result.out)
    expect_true(any("ffi_call" in frame for frame in lost[0]["stack"]) and "66666" not in result.out, lost)
    # More stacks than a handler may make turns of a loop (MAXACTION): reports are bounded by what is kept alone. Each of f's 14
    # calls is made at one of two places.
    folder = temporary_directory()
    (folder / "many.c").write_text("#include <stdlib.h>\nstatic void* volatile kept;\n__attribute__((noipa)) void f(int depth, int bits) {\n"
                                   "  if (depth == 0) { kept = malloc(77); return; }\n  if (bits & 1) { f(depth - 1, bits >> 1); __asm__ volatile(\"\"); } else { f(depth - 1, bits >> 1); __asm__ volatile(\"nop\"); }\n}\n"
                                   "int main(int count, char** words) { for (int i = 0; i < atoi(words[1]); i++) f(15, i); }\n")
    subprocess.run([installed("gcc"), "-O0", folder / "many.c", "-o", folder / "many"], check=True)
    result = spile("leaks", "--json", "-c", f"{folder}/many 12000").expect(status=0, err="")
    expect(sum(row["blocks"] for row in rows(result) if row["bytes"] == 77), 12000)
    spile("leaks", "-c", f"{folder}/many 20500").expect(status=0, err_match=r"^WARNING: \d+ blocks are not in the table: there are more than a million, or more than 20000 stacks$")
    folded = spile("flame", "--alloc", "-c", f"{folder}/many 12000").expect(status=0, err="").out
    expect(sum(int(line.split()[-1]) for line in folded.splitlines() if ";f;f;" in line), 12000 * 77)
    # A mutex that another thread holds for 3 ms, 20 times.
    result = spile("locks", "--json", "-c", f"{program('causes')} mutex 20").expect(status=0, err="")
    mutex = [row for row in rows(result) if any("pthread_mutex_lock" in frame for frame in row["stack"])]
    expect(sum(row["waits"] for row in mutex), 20, result.out)
    expect_true(sum(row["total_ns"] for row in mutex) >= 30_000_000, mutex)


def on_terminal(*words, **environment):
    """What a terminal gets of spile."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(spile_words(words), stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, **environment}, start_new_session=True)
    os.close(terminal)
    got = b""
    while True:
        try:
            piece = os.read(control, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    os.close(control)
    expect(process.wait(60 * PATIENCE), 0, got.decode())
    return got.decode().replace("\r\n", "\n")


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
    # The last line: the process, functions, calls in a second, what was lost, and what it costs, about.
    foot = rf"\n{target.pid} server · 2 functions · [1-9][\d.]*[KM]? calls/s · 0 lost · overhead ~(\d+(?:\.\d)?) %\x1b\[K"
    wait(foot)
    expect_true(float(re.search(foot, seen)[1]) > 0, seen[-500:])
    press(b"s", "by calls/s")
    press(b"p", "paused")
    press(b"p", r"by calls/s +q quit s sort .* c callers\x1b\[K\r\n")
    press(b"/nothing\n", r"/nothing \(0\)")
    press(b"/\x1b", r"by calls/s +q quit")
    press(b"\x1b[B", r"> work ")
    press(b"c", r"(?s)callers of work \(c: back\).* calls +% +caller.*[\d,]+ +100  \w+\x1b")
    press(b"c", r"> work ")
    press(b"\x1b[C", "spile top")  # other arrows mean nothing
    press(b"w", r"written to spile-top-1\.txt")
    expect_match(r"function +calls.*\nwork +[\d,]+", (folder / "spile-top-1.txt").read_text())
    press(b"q", r"\x1b\[\?1049l")
    wait(r"work +[\d,]+ +[\d,]+ ")
    expect(session.wait(60 * PATIENCE), 0, "the status")
    expect(termios.tcgetattr(slave)[3], before, "the terminal's local modes")
    # At a terminal that knows no control sequences there are lines.
    dumb = on_terminal(*compiled("top", "work", "-x", target.pid, "-T", "3"), TERM="dumb")
    expect_true(re.search(r"(?m)^work +[\d,]+ ", dumb) and "\x1b" not in dumb, dumb)
    # What stays at the end is the last whole interval, rather than the few calls, or none, of the one that -T cuts.
    ended = on_terminal(*compiled("top", "work", "--every", "1s", "-x", target.pid, "-T", "3.03"), TERM="xterm")
    shown = [int(number.replace(",", "")) for number in re.findall(r"(?m)^work +[^\d\n]*([\d,]+) ", ended)]
    expect_true(len(shown) >= 2 and shown[-1] == shown[-2], ended[-3000:])
    # A job in the background prints lines, and is not stopped for want of the terminal.
    master, slave = pty.openpty()
    background = subprocess.Popen(["sh", "-m", "-c", f"'{SPILE}' top work --every 100ms -x {target.pid} & wait"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    seen = ""
    threading.Thread(target=read, args=(master,), daemon=True).start()
    wait(r"function +calls.*\r\nwork +[\d,]+")
    expect_true("\x1b[?1049h" not in seen, repr(seen))
    os.kill(children(background.pid)[0], signal.SIGINT)
    background.wait(60 * PATIENCE)
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
        (["lat", "foo", "--limit", "3", "-c", program("calls")], "--limit is for the table of --by"),
        (["lat", "foo", "--by", "$x y", "-c", "true"], "spile: --by '$x y': not an expression of the script language, from 'y' on\n"),
        (["lat", "foo", "--by", "$x <", "-c", "true"], "spile: --by '$x <': not an expression of the script language: it lacks its end\n"),
        (["lat", "foo", "--by", "1) } probe begin { (2", "-c", "true"], "not an expression of the script language"),
        (["lat", "foo", "--by", " ", "-c", "true"], "the value of option '--by' is empty"),
        (["snap", "--when", "foo if $x y", "-c", "true"], "--when '$x y': not an expression of the script language, from 'y' on\n"),
        (["syscalls", "read", "-c", "true"], "syscalls takes no words, such as 'read'"),
        (["files"], "files needs the processes to look at"),
        (["leaks", "--by", "x", "-c", "true"], "spile leaks has no option --by"),
        (["trace", "foo"], "trace needs the processes to look at\n  hint: spile trace foo -x PID, or -c COMMAND"),
        (["top", "foo||bar", "-c", "true"], "the name of a function is empty"),
        (["--script", "trace", "foo", "!f*"], "trace needs the processes to look at: with '!f*', its script has the names"),
        (["--script", "lat", "foo", "!f*|g"], "lat needs the processes to look at: with '!f*', its script has the names"),
        (["top", "foo", "--remote=ann@web1", "-x", "no_such_name"], "top can't be used with --remote: it makes its output of"),
        (["syscalls", "--remote=web1"], "hint: run it there: ssh web1 spile syscalls ...; a script can be used with --remote"),
        (["funcs", "--remote=web1", "ls"], "funcs can't be used with --remote: it looks at files and processes of this machine"),
    ]:
        result = spile(*words).expect(status=1, out="")
        expect_true(message in result.err, f"{message} in {result.err}")
    # What can't be read in some calls ends nothing, and shows no line of a script that the user has not written: these calls are
    # left out, and counted, whatever the addresses were.
    unread = '$arg % 2 ? "1" : user_string($arg * 8)'
    left_out = (r"^WARNING: read fault near 'user_string': hits like this are left out, and counted\n"
                r"WARNING: 50 hits left out: read fault near 'user_string'\nWARNING: Number of errors: 50, skipped probes: 0\n$")
    result = spile("lat", "foo", "--by", unread, "--json", "-c", f"{program('calls')} 100").expect(status=0, err_match=left_out)
    expect((one(result, value="1")["calls"], len(rows(result))), (50, 1))
    result = spile("snap", "foo", "--when", f'foo if ({unread}) == "2"', "-c", f"{program('calls')} 100").expect(status=0)
    expect_match(r"(?m)^WARNING: 50 hits left out: read fault near .*$", result.err)
    expect_true("<input>" not in result.err and result.out.count("foo(") + result.out.count(" foo") >= 100, result.out + result.err)
    run = temporary_directory() / "x.spile-run"
    spile("record", "lat", "foo", "--by", unread, "-w", "-o", run, "-c", f"{program('calls')} 100").expect(status=0, err_match=r"^WARNING: Number of errors: 50, skipped probes: 0\n$")
    expect_true("50 hits left out: read fault near 'user_string'" in spile("report", run).expect(status=0).out, "the document has it")
    result = spile("lat", "foo", "--by", unread, "-DMAXERRORS=0", "-c", f"{program('calls')} 100").expect(status=1, err_match="hits? left out")
    # Tables that are full name what their verb has to enlarge them.
    result = spile("hist", 'process.function("foo")', "keys=$arg", "size=10", "-c", f"{program('calls')} 100")
    result.expect(status=0, err_match=r"^WARNING: 90 updates lost, array full \(size=N keeps more entries\)$")
    # Functions beyond the number that a thread's memory has room for can be probed: of libLLVM's, few are called.
    result = spile("top", "libLLVM*.so*:*", "-w", "-c", "/usr/lib/llvm-19/bin/clang --version", timeout=300).expect(status=0, err="")
    expect_match(r"(?m)^llvm::\S+ +[\d,]+ +", result.out)
    script = spile("--script", "top", "libLLVM*.so*:*", "-c", "/usr/lib/llvm-19/bin/clang --version").expect(status=0).out
    expect_match(r"(?m)^global calls\[32768\], ", script)
    spile("top", "libLLVM*:*", "-c", "/usr/lib/llvm-19/bin/clang --version").expect(status=1, err_match=r"hint: the name of a library has \.so, as in 'libc\.so\.6:malloc' and 'libLLVM\*?\.so\*:\*'")
    # Scripts that have nothing of a process are printed without one.
    for verb in "top", "lat", "snap", "trace":
        words = ["foo"] if verb == "trace" else ["f*|bar", "libc.so.6:malloc|free"]
        script = spile("--script", verb, *words).expect(status=0, err="").out
        expect_match(rf"(?m)^# spile {verb} ", script)
        expect_match(r'process\.function\("f(oo|\*)"\)\.', script)
        if verb != "trace":
            expect_match(r'(?s)function\("bar"\)\.return,.*"libc.so.6"\).function\("malloc"\).*libc.*"free"', script)
    for verb in "syscalls", "errno", "files", "leaks", "locks", "flame":
        expect_match(rf"^# spile {verb}\n", spile("--script", verb).expect(status=0, err="").out)
    # Patterns joined by '|' are several.
    ten = f"{program('calls')} 10"
    names = lambda *words: sorted(row["function"] for row in rows(spile(*words, "--json", "-c", ten).expect(status=0)))
    expect(names("top", "foo|bar|eight"), ["bar", "eight", "foo"])
    expect(names("top", "foo|bar|eight", "!bar|e*"), ["foo"])
    out = spile("trace", "foo|bar", "!foo|x", "-c", f"{program('calls')} 10").expect(status=0).out
    expect_true(" bar(" in out and " foo(" not in out, out)
    script = spile("--script", "locks", "-x", os.getpid()).expect(status=0).out
    expect_match(r"(?s)# spile locks\nglobal waits.*probe syscall\.futex\.return", script)


{"top": top, "lat": lat, "activity": activity, "stacks": stacks, "live": live, "wrong": wrong}[VARIANT]()
