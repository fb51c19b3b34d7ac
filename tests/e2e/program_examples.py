# The scripts of examples/programs, on servers and programs that others wrote, each with a cause that is counted.
# long
import shlex

from spiletest import *

python = "/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else os.path.realpath("/usr/bin/python3")
output = temporary_directory() / "output"
tried = set()


def path_of(name):
    tried.add(name)
    return ROOT / "examples/programs" / f"{name}.stp"


def example(name, *command, options=(), arguments=()):
    output.unlink(missing_ok=True)
    spile("-o", output, *options, path_of(name), "-c", shlex.join(map(str, command)), "--", *arguments).expect(status=0)
    return output.read_text()


def lines(pattern, text, count):
    expect(len(re.findall(f"^{pattern}$", text, re.M)), count, f"lines that match {pattern} in {text}")


def run_python(name, code, **words):
    return example(name, python, "-c", code, **words)


# Databases and servers.
statements = run_python("sqlite-statements", """
import sqlite3
c = sqlite3.connect(":memory:")
c.execute("create table t(x)")
for i in range(10): c.execute("insert into t values(?)", (i,))
print(c.execute("select sum(x) from t").fetchall())""")
lines(r" +\d+ us +10 steps  insert into t values\(\?\)", statements, 1)
lines(r" +\d+ us +2 steps  select sum\(x\) from t", statements, 1)  # a row, and that there is no more

postgres = Postgres()
session = Session("--children", path_of("postgres-statements"), "-x", postgres.pid).attached(postgres.pid)
postgres.sql("; ".join(f"select {i} + 1" for i in range(3)))
for i in range(7):
    postgres.sql("select 'counted'")
out = session.stop().expect(status=0).out
lines(r" +\d+ us +7 times +\d+ us on average  select 'counted';?", out, 1)
expect_untouched(postgres.pid)

nginx = Nginx()
session = Session(path_of("nginx-requests"), "-x", nginx.worker).attached(nginx.worker)
for i in range(12):
    nginx.get()
expect_match(r"^12 requests, \d+ us on average, \d+ at most$", session.stop().expect(status=0).out)
expect_untouched(nginx.worker)

# Interpreters and languages.
imports = run_python("python-imports", "import json, socket", arguments=[python])
expect_match(r"^ +\d+ us  json\n(.*\n)* +\d+ us  socket$", imports)
expect_match(r"^10 times St13runtime_error\n( 0x.*\n)* 0x\w+ : thrower\+", example("cpp-exceptions", program("throws"), 20))

# Memory and locks.
sizes = run_python("malloc-sizes", "import ctypes; m = ctypes.CDLL('libc.so.6').malloc\nfor i in range(5): m(100_000_000)")
lines(r" +67108864 \|@* +5", sizes, 1)
expect_match(r"^500000000 bytes in 5 blocks\n 0x\w+ .*libffi", sizes)
grown = run_python("heap-growth", "import mmap; kept = [mmap.mmap(-1, 50 << 20) for i in range(3)]")
expect_match(r"^153600 KiB\n 0x\w+ : .*mmap", grown)
grown = run_python("heap-growth", "import mmap; kept = mmap.mmap(-1, 1 << 20); kept.resize(81 << 20)")
expect_match(r"^81920 KiB\n 0x\w+ : .*mremap", grown)
grown = run_python("heap-growth", "import ctypes; brk = ctypes.CDLL(None).sbrk; brk(0); brk(70 << 20)")
expect_match(r"^71680 KiB\n 0x\w+ : .*brk", grown)
waits = example("mutex-waits", program("causes"), "mutex", 20)
expect_match(r"^[12]\d waits for the mutex at 0x\w+, \d+ us in all, \d+ us at most\n 0x\w+ : main\+|^20 waits", waits)

# Files.
target = temporary_directory() / "target"
traffic = run_python("file-traffic", f"""
import os
f = os.open({str(target)!r}, os.O_CREAT | os.O_RDWR, 0o600)
for i in range(10): os.write(f, b"x" * 100)
os.lseek(f, 0, 0)
for i in range(4): os.read(f, 250)
os.read(f, 1)""")
lines(rf' +1000 bytes read +in +4 calls  "{target}"', traffic, 1)
lines(rf' +1000 bytes written in +10 calls  "{target}"', traffic, 1)
synced = run_python("fsync-latency", f"""
import os
f = os.open({str(target)!r}, os.O_WRONLY)
for i in range(5): os.write(f, b"x"), os.fsync(f)
os.write(f, b"x"), os.fdatasync(f)""")
lines(r"fsync: 5 calls, \d+ us on average, \d+ us at most", synced, 1)
lines(r"fdatasync: 1 calls, \d+ us on average, \d+ us at most", synced, 1)
missing = run_python("missing-files", """
for i in range(6):
    try: open("/no such file")
    except OSError: pass""")
lines(r' +6 times openat +"/no such file"', missing, 1)

# The network.
port = free_port()
connected = run_python("connections", f"""
import socket
for i in range(3):
    try: socket.create_connection(("127.0.0.1", {port}))
    except OSError: pass""")
lines(rf"python\S+ +\d+ us  ECONNREFUSED +127\.0\.0\.1:{port}", connected, 3)

# Threads, time, and what programs start.
threads = run_python("thread-lives", """
import threading, time
for i in range(4): threading.Thread(target=time.sleep, args=(0.05,)).start()""")
lines(r"\d+ starts \S+", threads, 4)
lines(r"4 threads ended, after \d+ us on average, \d{5,} at least, \d{5,} at most", threads, 1)
late = run_python("late-sleepers", "import time\nfor i in range(10): time.sleep(0.01)")
expect_match(r"^10 sleeps, \d+ us late on average, \d+ at most$", late)
loads = run_python("loaded-libraries", "import ctypes; ctypes.CDLL('libz.so.1')")
lines(r"python\S+\[\d+\] loads libz\.so\.1", loads, 1)
lines("home +\"/nowhere\"", example("environment", "env", "home=/nowhere", python, "-c",
                                    "import ctypes; g = ctypes.CDLL('libc.so.6').getenv; g(b'home'); g(b'absent')"), 1)
lines("absent +not set", output.read_text(), 1)
output.unlink(missing_ok=True)
spile("-o", output, path_of("exits"), "-c", f"{python} -c 'import os; os._exit(3)'")
expect_match(r"^python\S+\[\d+\] calls _exit\(3\)\n 0x\w+ : _exit\+", output.read_text())
commands = example("commands", "sh", "-c", "sleep 0.2; true; ls / >/dev/null; (exit 0)", options=["--children"])
lines(r" +[2-9]\d\d ms  sleep 0\.2", commands, 1)
lines(r" +\d+ ms  ls /", commands, 1)
lines(r" +\d+ ms  \S.*", commands, 3)

expect(sorted(tried), sorted(path.stem for path in (ROOT / "examples/programs").glob("*.stp")), "examples that were tried")
