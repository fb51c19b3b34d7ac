# `spile flame` of memory, waits, locks and calls, of a program of which these are known; names of code that node makes while it
# runs, from its perf map, and what is done with a map that is not the process's.
import json, shutil
from spiletest import *

folder = temporary_directory()


def weights(*words):
    """By stack, without the thread's name and what comes before main or the thread's function."""
    out = spile("flame", *words, "-c", program("weights")).expect(status=0, err="").out
    return {re.sub(r"^.*?(main|hold_too)(?=;|$)", r"\1", line.rsplit(" ", 1)[0]): int(line.rsplit(" ", 1)[1])
            for line in out.splitlines()}


def of(stacks, *names):
    return sum(weight for stack, weight in stacks.items() if set(names) <= set(stack.split(";")))


allocated = weights("--alloc")
# The innermost frame is that of the function that asks.
expect((sum(n for stack, n in allocated.items() if stack.endswith(";big")),
        sum(n for stack, n in allocated.items() if stack.endswith(";small"))), (300000, 100000))
calls = weights("--of", "hold")
expect((of(calls, "hold"), of(calls, "main", "hold")), (20, 10))
# Two threads that hold a lock for 30 ms each, 20 times in all: one of them waits while the other one has it, until that one has
# ended at the latest.
waits = weights("--lock")
expect_true(150e6 < of(waits, "hold") < 2000e6 and of(waits, "nap") == 0, waits)
off = weights("--off-cpu")
expect_true(200e6 <= of(off, "nap") < 600e6, off)
expect_true(of(off, "hold") >= 600e6 + 150e6, off)
# In the kernel: where it sleeps, too. The first stacks end before the program's functions, as spile reads what the process has
# mapped when one is asked for.
if os.geteuid() == 0 and tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 12):
    out = spile("flame", "--off-cpu", "--kernel", "-c", program("weights")).expect(status=0).out
    stacks = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines()}
    expect_true(100e6 <= of(stacks, "nap", "do_nanosleep", "__schedule") < 600e6, stacks)
    expect_true(600e6 <= of(stacks, "hold", "do_nanosleep") + of(stacks, "hold", "futex_do_wait")
                + of(stacks, "hold", "futex_wait_queue") < 3000e6, stacks)
    expect_true(any(re.search(r"main;nap;.*do_nanosleep.*;schedule;__schedule$", stack) for stack in stacks), stacks)
spile("flame", "--alloc", "-o", folder / "a.svg", "-c", program("weights")).expect(status=0)
expect_match(r"<title>big\n3\d\d\d\d\d bytes,", (folder / "a.svg").read_text())
# A page says of which threads, and times with their units.
for words in ["--off-cpu"], ["--of", "hold"]:
    page = folder / "a.html"
    spile("flame", *words, "-o", page, "-c", program("weights")).expect(status=0)
    threads = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text())[1])["threads"]
    processes, numbers = {thread[1] for thread in threads}, {thread[2] for thread in threads}
    expect_true(len(processes) == 1 and len(numbers) == len(threads) and numbers - processes, f"{words}: {threads}")
spile("flame", "--off-cpu", "-o", folder / "a.svg", "-c", program("weights")).expect(status=0)
expect_match(r"<title>nap\n\d+ ms, [\d.]+ %; ", (folder / "a.svg").read_text())
spile("flame", "--lock", "-c", "/bin/true").expect(status=0, out="",
                                                   err="WARNING: the picture is empty: no thread has waited in a futex\n")
spile("flame", "--alloc", "--lock", "-x", 1).expect(status=1, err_match="can't be shown in one picture")
spile("flame", "--alloc", "-o", folder / "a.pftrace", "-x", 1).expect(status=1, err_match="have no weights")

node = shutil.which("node")
if not node: skip("node is not installed")
(folder / "spin.js").write_text("""function burn(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x }
function middle(n) { return burn(n) + 1 }
const end = Date.now() + 4000; let total = 0
while (Date.now() < end) total += middle(100000)
console.log(total)
""")
out = spile("flame", "--hz", "500", "-c",
            f"exec {node} --perf-basic-prof --interpreted-frames-native-stack {folder}/spin.js").expect(status=0).out
stacks = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines() if ";" in line}
named = sum(n for stack, n in stacks.items() if re.search(r";[^;]*middle[^;]*;[^;]*burn [^;]*$", stack))
expect_true(named > 0.5 * sum(stacks.values()),
            f"{named} of {sum(stacks.values())}: {sorted(stacks.items(), key=lambda s: -s[1])[:10]}")
expect_true(any(re.search(r"node::.*;[^;]*middle[^;]*;[^;]*burn ", stack) for stack in stacks),
            "the stack goes on from JavaScript to node")

# A map of somebody else's: not used, and said so.
if os.geteuid() == 0:
    target = start(program("profiled"), "3000", user="nobody")
    forged = pathlib.Path(f"/tmp/perf-{target.pid}.map")
    forged.write_text("0 7fffffffffff forged\n")
    os.chown(forged, pwd.getpwnam("daemon").pw_uid, -1)
    try:
        result = spile(*compiled("flame", "-x", target.pid, "-T", "1")).expect(status=0)
        expect_true("forged" not in result.out, result)
    finally:
        forged.unlink()
