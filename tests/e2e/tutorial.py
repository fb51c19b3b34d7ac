# Every step of docs/tutorial.md, in order and in one shell, as a reader types it. Its output has to be what the document shows
# below the command, apart from the size of numbers: see `pattern`.
# timing
# long
import json

from spiletest import *

# The seconds of -T limit the compilation, too, and a busy machine may need more: so each script of these is compiled before
# (-p4), and comes from the cache then.
TIMED = r"^spile (.*) -T \d+"
COMPILED_BEFORE = r"spile -p4 \1 -T 100"
END = "@@ end of the step, status "

installed("redis-cli")
installed("redis-benchmark")
if os.path.realpath(installed("redis-server")) != "/usr/bin/redis-check-rdb":
    skip("redis-server is not Debian's")
folder = temporary_directory()


def steps(text):
    """(command, lines of output) of each command; a command goes on until its quotes are closed."""
    command, output = "", []
    for line in text.splitlines():
        if not line.startswith("    "):
            continue
        line = line[4:]
        if command.count("'") % 2:
            command += "\n" + line
        elif line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], []
        else:
            output.append(line)
    yield command, output


DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
# what a line may have otherwise than the document: how it looks, and what may stand there instead; the first that fits counts
VARYING = [
    (DATE, DATE),
    (r"0x[0-9a-f]+", r"0x[0-9a-f]+"),
    (r"\d[\d,]*", None),  # numbers, see below
    (r"@+", r"@*"),  # bars of a histogram
    (r"\s+", r"\s+"),
    (r".", None),
]


def pattern(line):
    """Matches `line` with other numbers in it: a number is not 0 where the document's is not."""
    out = ""
    for part in re.findall("|".join(look for look, _ in VARYING), line.strip()):
        instead = next(instead for look, instead in VARYING if re.fullmatch(look, part))
        if instead is None and part[0].isdigit():
            instead = r"(?=[\d,]*[1-9])[\d,]+" if part.strip("0,") else r"\d+"
        out += instead or re.escape(part)
    return re.compile(out)


def compare(command, shown, out):
    """Each line that is shown must be there and, unless "..." is shown, no line that is not."""
    patterns = {line: pattern(line) for line in shown if line and line != "..."}
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    whole = f"$ {command}\n--- shown\n" + "\n".join(shown) + f"\n--- printed\n{out}"
    for line, wanted in patterns.items():
        expect_true(any(wanted.fullmatch(line) for line in lines),
                    f"nothing is printed like {line!r} ({wanted.pattern})\n{whole}")
    if "..." not in shown:
        for line in lines:
            expect_true(any(wanted.fullmatch(line) for wanted in patterns.values()),
                        f"not shown in the document: {line!r}\n{whole}")


class Shell:
    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=folder,
                                        env={**os.environ, "PATH": f"{SPILE.parent}:{os.environ['PATH']}"},
                                        start_new_session=True)
        atexit.register(self.end)

    def run(self, command):
        """What the command prints, and its status."""
        self.process.stdin.write(f"{command}\necho '{END}'$?\n".encode())
        self.process.stdin.flush()
        out = ""
        while END not in out:
            line = self.process.stdout.readline().decode(errors="replace")
            expect_true(line, f"the shell ended in {command}\n{out}")
            out += line
        out, _, status = out.partition(END)
        return out, int(status)

    def end(self):
        """Ends whatever a step that failed has left: all of it is in the session of this shell."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


port = free_port()
shell = Shell()
printed = {}
tried = 0
for command, shown in steps((ROOT / "docs/tutorial.md").read_text().replace("7391", str(port))):
    if re.search(TIMED, command):
        out, status = shell.run(re.sub(TIMED, COMPILED_BEFORE, command))
        expect_true(status == 0, f"{command} is not compiled\n{out}")
    out, status = shell.run(command)
    failure = any("error:" in line or line.startswith("ERROR") for line in shown)
    expect(status, 1 if failure else 0, f"status of {command}\n{out}")
    compare(command, shown, out)
    if command.startswith("redis-server"):
        wait_until(lambda: listens(port), 30, "redis-server")
    printed[command] = out
    tried += 1
expect_true(tried >= 20, f"{tried} commands")


def output(part):
    """What the one command printed that has `part` in it."""
    found = [out for command, out in printed.items() if part in command]
    expect(len(found), 1, f"commands with {part!r}")
    return found[0]


# What the text says about the numbers.
rows = [[int(n) for n in row] for row in re.findall(r"^ *(\d+) \|[@ ]* (\d+)$", output("@hist_log"), re.M)]
expect_true(any(n > 0 for value, n in rows if value < 256), f"quick commands: {rows}")
expect_true(any(n > 0 for value, n in rows if value >= 1024), f"slow commands: {rows}")
words = dict((word, int(n)) for n, word in re.findall(r"^ *(\d+) (\w+)$", output("createStringObject"), re.M))
expect_true(abs(words["incr"] - words["visits"]) <= 1, f"as often incr as visits: {words}")
compared, calls = map(int, re.findall(r"(\d+) keys compared in (\d+) calls", output("keys compared"))[0])
keys = int(output("dbsize"))
expect_true((calls - 1) * keys <= compared <= (calls + 1) * keys, f"{compared} comparisons in {calls} calls with {keys} keys")
for line in (folder / "slow.json").read_text().splitlines():
    expect(json.loads(line)["function"], "keysCommand")
