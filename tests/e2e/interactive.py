# spile -i: through a pipe, what each command does; at a terminal, editing, history and completion.
import os
import pty
import select
import subprocess
import tempfile
import time

from spiletest import SPILE, expect, expect_match, expect_true

folder = tempfile.TemporaryDirectory()
environment = dict(os.environ, HOME=folder.name, TERM="xterm", EDITOR="sed -i s/world/moon/")
environment.pop("SPILE_DIR", None)
saved = os.path.join(folder.name, "saved.stp")


def session(*lines):
    done = subprocess.run([SPILE, "-i"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=300,
                          env=environment)
    expect(done.returncode, 0, done.stderr)
    return done.stdout, done.stderr


# A script is built, listed, run, changed, saved; a declaration may take several lines.
out, err = session('probe begin {', '  println("hello world")', '  exit() }', "list", "run", "edit", "run",
                   f"save {saved}", "quit")
expect(out, '   1  probe begin {\n   2    println("hello world")\n   3    exit() }\nhello world\nhello moon\n')
expect(open(saved).read(), 'probe begin {\n  println("hello moon")\n  exit() }\n')
out, err = session(f"load {saved}", "delete 2", "list", "delete", "list", "delete 9", "load /no/such")
expect(out, "   1  probe begin {\n   2    exit() }\n")
expect_match("no such lines: '9'", err)
expect_match("open /no/such: No such file", err)

# The examples.
out, err = session("sample", "sample latency", "list", "sample nosuch")
expect_match(r"^  latency +\w", out)
expect_match(r"^ +\d+  probe ", out)
expect_match("no example 'nosuch'", err)

# Statements are done at once, with the script's functions and globals; arguments of run are the script's.
out, err = session("function twice(n) { return 2 * n }", "global g = 20", "println(twice(g) + 2)", "x = 1 +", "list")
expect(out, "42\n   1  function twice(n) { return 2 * n }\n   2  global g = 20\n")
expect_match("expected an expression", err)
out, err = session("probe begin { println(@1 . $2) exit() }", "run a", 'run one "two"')
expect(out, "onetwo\n")

# A wrong line is not added; an incomplete one is reported.
out, err = session("global a, a", "probe begin { x = }", "list", "probe begin {", "", "probe end {")
expect(out, "")
expect_match("duplicate global 'a'", err)
expect_match("not added", err)
expect(err.count("incomplete, dropped"), 2)
out, err = session("help")
for name in ("add", "delete", "edit", "help", "list", "load", "quit", "run", "sample", "save"):
    expect_match(f"^  {name} ", out)


# At a terminal: Tab completes, the up arrow brings back the line, Ctrl-C ends a run and not the session.
class Terminal:
    def __init__(self):
        self.unread = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(SPILE, ["spile", "-i"], environment)

    def until(self, text):
        end = time.monotonic() + 30
        while text not in self.unread:
            expect_true(time.monotonic() < end, f"no {text!r} in {self.unread!r}")
            if select.select([self.fd], [], [], 0.2)[0]:
                self.unread += os.read(self.fd, 4096).decode(errors="replace")
        # One read may bring the next prompt too.
        self.unread = self.unread.partition(text)[2]

    def type(self, text):
        os.write(self.fd, text.encode())


terminal = Terminal()
terminal.until("spile> ")
terminal.type("printl\t(6 * 7)\n")
terminal.until("42\r\n")
terminal.until("spile> ")
terminal.type("\x1b[A\n")
terminal.until("42\r\n")
terminal.until("spile> ")
terminal.type('probe timer.s(1) { println("tick") }\n')
terminal.until("spile> ")
terminal.type("run\n")
terminal.until("tick\r\n")
terminal.type("\x03")
terminal.until("spile> ")
terminal.type("quit\n")
expect(os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]), 0)
expect_match(r"println", open(os.path.join(folder.name, ".spile/history")).read())
