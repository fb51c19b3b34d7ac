# variants: run running table
# Every command of docs/cookbook.md, run as it stands there. The comment behind a command, and each line of the comment behind the
# table of other tools, says how it is run, and what its output has to match:
#   run        as it is, until it ends
#   guest      traces the whole system: tests/vm/cases/cookbook.sh runs it in a virtual machine
#   running    with -x of the shop; "redis", "python" and "postgres" with -x of such a server, under load; all until Ctrl-C
#   recorder   with -x of redis; prints the number of a flight recorder, which is asked for what it holds
#   http       with -x of redis; is asked for its numbers over HTTP
# The shop, app.c, is compiled from the text.
# long
import urllib.request

from spiletest import *

text = (ROOT / "docs/cookbook.md").read_text()
folder = temporary_directory()
folder.chmod(0o755)
(folder / "app.c").write_text(re.search(r"```c\n(.*?)```", text, re.S).group(1))
(folder / "examples").symlink_to(ROOT / "examples")
subprocess.run(["gcc", "-g", "-O2", "-w", "-o", "app", "app.c"], cwd=folder, check=True)
environment = {**os.environ, "PATH": f"{SPILE.parent}:{os.environ['PATH']}"}

recipes = re.findall(r"^### (.*)\n\n(?:\(.*\)\n\n)?((?:    .*\n)+)<!-- (\w+): (.*) -->$", text, re.M)
expect(len(recipes), len(re.findall(r"^### ", text, re.M)), "recipes")
expect_true(len(recipes) >= 40, f"{len(recipes)} recipes")
recipes = [(question, re.sub(r"^    ", "", block, flags=re.M), how, expected) for question, block, how, expected in recipes]

commands = re.findall(r"^\| .* \| `((?:sudo )?spile .*)` \|$", text, re.M)
rows = re.findall(r"^(\w+): (.*)$", re.search(r"^<!-- rows:\n(.*?)-->$", text, re.M | re.S).group(1), re.M)
table = text.partition("| you would type |")[2].splitlines()[2:]
expect(len(commands), sum(line.startswith("|") for line in table), "rows with a whole command")
expect(len(rows), len(commands), "expectations of the rows")
rows = [(command, command.removeprefix("sudo "), how, expected) for command, (how, expected) in zip(commands, rows)]

if VARIANT == "table":
    chosen = [row for row in rows if row[2] != "guest"]
else:
    chosen = [recipe for recipe in recipes if recipe[2] != "guest" and (recipe[2] == "run") == (VARIANT == "run")]

if any("process.data(" in command for _, command, *_ in chosen) and not watchpoints_work():
    chosen = [row for row in chosen if "process.data(" not in row[1]]

BUSY = """import gc
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    fib(12)
    gc.collect()
while True: work()
"""


def begin_redis():
    redis = Redis()
    redis.benchmark("-t", "set,get,incr", "-n", 100000000, "-c", 5)
    return redis.pid


def begin_postgres():
    postgres = Postgres()
    postgres.pgbench("-i", "-q", "-s", "1")
    postgres.start_pgbench("-S", "-n", "-T", "100")
    return postgres.pid


BEGIN = {
    "redis": begin_redis,
    "postgres": begin_postgres,
    "python": lambda: start("/usr/bin/python3", "-c", BUSY).pid,
    "running": lambda: start(folder / "app", 100000000).pid,
}
begun = {}  # the kind of server that runs, and its number; one at a time, since each takes all of a processor


def begin(command):
    """Starts `command` in a shell that becomes it."""
    shell = subprocess.Popen(["sh", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                             env=environment, stdin=subprocess.DEVNULL)
    atexit.register(shell.kill)
    return shell


def end(shell, command):
    """What it prints until it ends; it has to end well."""
    out = shell.communicate(timeout=300)[0].decode()
    expect_true(shell.returncode == 0, f"status {shell.returncode} of {command}\n{out}")
    return out


def run_traced(command, pid, expected):
    """What the command prints until Ctrl-C, some time after it has begun to trace the process: longer on a busy machine."""
    for seconds in (1, 3, 10, 30):
        shell = begin(command)
        wait_until(lambda: shell.poll() is not None
                   or f"TracerPid:\t{shell.pid}\n" in pathlib.Path(f"/proc/{pid}/status").read_text(), 60, command)
        try:
            shell.wait(seconds)
        except subprocess.TimeoutExpired:
            shell.send_signal(signal.SIGINT)
        out = end(shell, command)
        if re.search(expected, out, re.M):
            break
    return out


def ask_recorder(command, expected):
    recorder = int(end(begin(command), command))
    try:
        wait_until(lambda: re.search(expected, spile("--flight-dump", recorder).expect(status=0).out, re.M), 30, expected)
        return spile("--flight-dump", recorder).out
    finally:
        os.kill(recorder, signal.SIGTERM)


def ask_over_http(command, expected):
    port = free_port()
    shell = begin(command.replace("9107", str(port)))

    def answer():
        expect_true(shell.poll() is None, f"{command} has ended")
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/prometheus", timeout=10).read().decode()
        except OSError:
            return ""

    wait_until(lambda: re.search(expected, answer(), re.M), 60, expected)
    out = answer()
    shell.send_signal(signal.SIGINT)
    end(shell, command)
    return out


tried = 0
chosen.sort(key=lambda recipe: recipe[2] if recipe[2] in BEGIN else "redis")
before = number_of_started()
for question, command, how, expected in chosen:
    if how == "run":
        if " -T " in command:  # the time limits the compilation, too, and a busy machine may need more
            end(begin(re.sub(r" -T \d+", " -p4", command)), command)
        out = end(begin(command), command)
    else:
        server = how if how in BEGIN else "redis"
        if server not in begun:
            end_started(before)
            begun.clear()
            begun[server] = BEGIN[server]()
        command, named = re.subn(r"(?<=-x )(?:redis-server|python3|postgres)\b|\bPID\b", str(begun[server]), command)
        expect(named, 1, f"processes in {command}")
        asked = {"recorder": ask_recorder, "http": ask_over_http}.get(how)
        out = asked(command, expected) if asked else run_traced(command, begun[server], expected)
    expect_match(expected, out, question)
    tried += 1
expect_true(tried >= 10, f"{tried} tried")
