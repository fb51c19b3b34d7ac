# variants: run running
# Every command of docs/cookbook.md, run as it stands there. The comment behind a command names the program that it is for ("run": none,
# "none": not tried here), and what its output has to match. The shop, app.c, is compiled from the text.
from spiletest import *

text = (ROOT / "docs/cookbook.md").read_text()
folder = temporary_directory()
(folder / "app.c").write_text(re.search(r"```c\n(.*?)```", text, re.S).group(1))
subprocess.run(["gcc", "-g", "-O2", "-w", "-o", "app", "app.c"], cwd=folder, check=True)
recipes = re.findall(r"^### (.*)\n\n(?:\(.*\)\n\n)?((?:    .*\n)+)<!-- (\w+): (.*) -->$", text, re.M)
expect(len(recipes), len(re.findall(r"^### ", text, re.M)), "recipes")
expect_true(len(recipes) >= 40, f"{len(recipes)} recipes")
environment = {**os.environ, "PATH": f"{SPILE.parent}:{os.environ['PATH']}"}

BUSY = """import gc
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    fib(12)
    gc.collect()
while True: work()
"""


def begin(target):
    if target == "redis":
        redis = Redis()
        load = redis.benchmark("-t", "set,get,incr", "-n", 100000000, "-c", 5)
        return redis.pid, load
    busy = start("/usr/bin/python3", "-c", BUSY)
    return busy.pid, busy


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command, pid=None):
    """What the command prints; with `pid`, Ctrl-C ends it after that process has run for some time while it was traced."""
    shell = subprocess.Popen(["sh", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                             env=environment, stdin=subprocess.DEVNULL)
    if pid:
        wait_until(lambda: f"TracerPid:\t{shell.pid}\n" in pathlib.Path(f"/proc/{pid}/status").read_text(), 60, command)
        before = processor_seconds(pid)
        time.sleep(1.5)  # what is printed each second is printed once
        wait_until(lambda: processor_seconds(pid) >= before + 0.5, 120, f"{pid} to run under {command}")
        shell.send_signal(signal.SIGINT)
    out = shell.communicate(timeout=120)[0].decode()
    expect_true(shell.returncode == 0, f"status {shell.returncode} of {command}\n{out}")
    return out


tried = 0
targets = {}
for question, block, target, expected in recipes:
    if target == "none" or (target == "run") != (VARIANT == "run"):
        continue
    command = re.sub(r"^    ", "", block, flags=re.M)
    pid = None
    if target != "run":
        if target not in targets:
            targets[target] = begin(target)
        pid = targets[target][0]
        command = re.sub(r"\$\(pidof [\w-]+\)", str(pid), command)
    out = run(command, pid)
    expect_match(expected, out, question)
    tried += 1
expect_true(tried >= 5, f"{tried} tried")
