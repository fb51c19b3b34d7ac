# input.char and input.line: one hit for each character and line of the standard input, from a pipe and from a terminal.
import pty
import termios

from spiletest import *

SCRIPT = """global n, lines, letters
probe input.char { n++; letters[char]++ }
probe input.line { printf("<%s>", line); lines++; if (line == "stop\\n") exit() }
probe end { printf(" %d %d %d %d\\n", n, lines, letters["x"], letters["\\n"]) }"""


def piped(text, *options):
    return subprocess.run([SPILE, *options, "-e", SCRIPT], input=text, capture_output=True, text=True, timeout=300)


# What comes after the line that ends the session is not run; a long line is cut, and all of its characters are hits.
run = piped("one\n\nx" + "x" * 999 + "\nstop\nnever\n", "-D", "MAXSTRINGLEN=101")
expect(run.stdout, "<one\n><\n><" + "x" * 100 + "><stop\n>" + " 1011 4 1000 4\n", run.stderr)
# The end of the input ends the last line, and not the session.
run = piped("a\nlast", "-T", "2")
expect(run.stdout, "<a\n><last> 6 2 0 1\n", run.stderr)
spile("-p2", "-e", 'probe procfs("__stdin").read { $value = "" }').expect(
    status=1, err_match="the standard input can't be read from as a file")

# Typed on a terminal: each character comes without the end of a line, and the terminal's settings are as before.
ours, theirs = pty.openpty()
before = termios.tcgetattr(theirs)
process = subprocess.Popen([SPILE, "-e", 'probe begin { println("ready") } probe input.char { printf("[%s]\\n", '
                                         'char) if (char == "q") exit() }'], stdin=theirs,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
expect(process.stdout.readline(), "ready\n")
wait_until(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON, 20, "keys without lines")
for key in "ab":
    os.write(ours, key.encode())
    expect(process.stdout.readline(), f"[{key}]\n")
os.write(ours, b"q")
expect(process.stdout.read(), "[q]\n")
expect(process.wait(20 * PATIENCE), 0)
expect(termios.tcgetattr(theirs)[3], before[3])
