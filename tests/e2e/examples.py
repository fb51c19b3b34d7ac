# Every example does what it says: most on a program of the tests, one on a redis-server, one in the kernel.
# long
from spiletest import *

calls = f"{program('calls')} 3"
tried = set()


def path_of(name):
    tried.add(name)
    return ROOT / "examples" / f"{name}.stp"


def example(name, *arguments):
    return spile("-o", "/dev/stderr", "-c", calls, "--", path_of(name), *arguments).expect(status=0).err


graph = example("call-graph", "foo")
expect_true("warning" not in graph, "an example without warnings")
expect(len(re.findall(r"^ +\d+ calls\(\d+\):-> foo\(arg=0?x?\d\)$", graph, re.M)), 3)
expect(len(re.findall(r"^ +\d+ calls\(\d+\):<- foo return=0x\w+$", graph, re.M)), 3)
graph = example("call-graph", "bar", "main")
expect_match(r":-> bar\(p=0x[0-9a-f]+\)$", graph)
expect_true("main" not in graph, "only bar is shown")
# Copies that were inlined have no return: they must not move what follows to the right.
graph = spile("-o", "/dev/stderr", "-c", program("values"), "--", path_of("call-graph"), "*").expect(status=0).err
expect_true("<- visit" in graph and "-> twice" not in graph, "the calls alone")
expect_match(r"^ +\d+ values\(\d+\): <- main return=0x0$", graph)
expect_match(r"^1 slow calls, 0 others$", example("slow-requests", "main", 0, "foo"))
slow = example("slow-requests", "main", 0, "foo")
expect_match(r"^main took \d+ us\n  foo arg=0x0\n  foo arg=0x1\n  foo arg=0x2\n1 slow", slow)
expect_match(r"^0 slow calls, 3 others$", example("slow-requests", "foo", 1000000, "bar"))
expect_match(r"^work: .*ops/s.*\na request took \d+\.\d{3} ms on average$", example("queue", "foo", "bar", "leaf"))
times = example("function-times", "*")
expect_match(r"^function +calls +average +longest$", times)
expect_match(r"^foo +3 +\d+ +\d+$", times)
latency = example("latency", "foo")
expect_match(r"^ *value \|-+ count$", latency)
expect(sum(int(n) for n in re.findall(r"\| *(\d+)$", re.sub(r"@", "", latency), re.M)), 3)
expect(len(re.findall(r"^\d+ calls\[\d+\] foo took \d+ us$", example("slow-calls", "foo", -1), re.M)), 3)
expect_match(r"^foo +3$", example("top-functions", "*"))

# Without a redis-server the script is compiled all the same.
redis_commands = path_of("redis-commands")
if shutil.which("redis-server"):
    redis = Redis()
    session = Session(redis_commands, "-x", redis.pid).attached(redis.pid)
    for i in range(20):
        redis.command("SET", "key", i)
    session.wait_output(r"^(?i:set) +\d+$").stop().expect(status=0)
    expect_untouched(redis.pid)
spile("-p2", redis_commands, "-c", calls).expect(status=1, err_match="no function 'processCommand'")
# In the process and in the kernel.
off = spile("-o", "/dev/stderr", "-c", f"{program('steps')} 200", "--", path_of("off-cpu-in-function"), "step")
if off.status == 0:
    expect_match(r"^200 calls of step", off.err)
    waits = spile("-o", "/dev/stderr", "-c", f"{program('naps')} 20", "--", path_of("off-cpu-in-function"), "nap")
    expect_match(r"left the processor \d+ times(.*\n)*^\d+ us in\n( 0x.*\n)* 0x\w+ : nap\+.*\n 0x\w+ : \w+\+",
                 waits.err, str(waits))
# In the kernel: compiled, for which no rights are needed.
spile("-p4", path_of("context-switches")).expect(status=0)
# This one asks for stacks, which takes Linux 6.12 and root: it runs there.
off_cpu = path_of("off-cpu")
if os.geteuid() == 0 and tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 12):
    naps = start(program("naps"), 1000000)
    spile("-p4", off_cpu, "-x", naps.pid).expect(status=0)  # compiled, and kept for the next run
    out = spile(off_cpu, "-x", naps.pid, "-T", "4").expect(status=0).out
    expect_match(r"^\d+ waits, \d+ us in all, \d+ us at most\n 0xf[0-9a-f]+ : __schedule\+(.*\n)* 0x[0-9a-f]+ : nap\+", out)
    naps.kill()
spile("-p4", path_of("page-faults")).expect(status=0)
packets = path_of("packets")
if os.path.exists("/sys/kernel/btf/vmlinux"):  # types are the kernel's
    spile("-p4", packets).expect(status=0)
expect(sorted(tried), sorted(path.stem for path in (ROOT / "examples").glob("*.stp")), "examples that were tried")
