# Several -x: all are traced, target() is the first, the session ends when all have gone; each program has its own functions.
from spiletest import *

first, second, other = server(), server(), server()
SCRIPT = """global n probe process.function("work") { n[pid()]++ }
probe end { foreach (p+ in n) if (n[p] > 0) printf("%d ", p) println(target()) }"""
session = Session("-v", "-e", SCRIPT, "-x", second.pid, "-x", first.pid, "-x",
                  second.pid).attached(first.pid).attached(second.pid)
wait_turns(first.pid)
wait_turns(second.pid)
finish(second)
wait_turns(first.pid, 1000)  # spile has time to end, as it should not
expect(session.process.poll(), None, "one of them still runs: the session's end")
finish(first)
lowest, highest = sorted([first.pid, second.pid])
session.wait().expect(out=f"{lowest} {highest} {second.pid}\n", status=0)

# Several numbers in one word, as "$(pidof NAME)" gives them.
for between in " ", ",", "\n":
    spile("-e", 'probe begin { printf("%d", target()) exit() }', "-x",
          f"{other.pid}{between}4194304").expect(status=1, err_match="no process has the ID 4194304")
spile("-e", 'probe begin { printf("%d", target()) exit() }', "-x",
      f"{other.pid} {other.pid}").expect(out=str(other.pid), status=0)

# Two programs: process.function() is of both.
sleeper = start(program("sleeper"), 100, ready="ready", stdin=subprocess.PIPE)
session = Session("-v", "-e", 'global n probe process.function("work") { n[execname()]++ } '
                  r'probe end { printf("%d %d\n", n["sleeper"], n["server"] > 10) }', "-x", sleeper.pid, "-x",
                  other.pid).attached(other.pid)
sleeper.stdin.write(b"\n\n")
sleeper.stdin.flush()
expect(sleeper.stdout.readline(), b"sum 14950\n")
session.stop().expect(out="100 1\n", status=0)
expect_untouched(other.pid)
spile("-e", 'probe process.function("work") { }', "-x", other.pid, "-x",
      4194304).expect(status=1, err_match="no process has the ID 4194304")
expect_untouched(other.pid)

# By name: all processes of that program, of a name that is longer than the kernel keeps, too.
folder = temporary_directory()
named = [start(shutil.copy(program("server"), folder / f"served-by-a-long-name-{os.getpid()}"), 60, 1, ready="ready")]
named.append(start(folder / f"served-by-a-long-name-{os.getpid()}", 60, 1, ready="ready"))
session = Session("-v", "-e", SCRIPT, "-x", f"served-by-a-long-name-{os.getpid()}").attached(named[0].pid).attached(named[1].pid)
for process in named:
    wait_turns(process.pid)
lowest, highest = sorted(process.pid for process in named)
session.stop().expect(out=f"{lowest} {highest} {lowest}\n", status=0)
# Some of that name end while spile begins: the others are traced.
brief = shutil.copy("/usr/bin/sleep", folder / f"brief-{os.getpid()}")
lasting = start(brief, "300")
many = start("sh", "-c", f"while :; do '{brief}' 0.02 & '{brief}' 0.03; done")
for _ in range(10):
    spile("-e", "probe process.begin { } probe process.end { } probe timer.ms(1) { exit() }", "-x",
          brief.name).expect(status=0, out="")
finish(many)
expect_untouched(lasting.pid)
spile("-e", "probe begin {}", "-x", "no-such-program").expect(status=1, err_match="no process is called 'no-such-program'")
