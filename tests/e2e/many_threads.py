# Ten thousand threads at once: every entry and return is counted, of threads that were there and of those that come later, and
# threads that come when others have ended take their places. (tools/torture/many_threads.py says what it costs.)
# variants: launched attached
# processors: 2
# long
from spiletest import *

THREADS, CALLS = 10000, 10

def limit(path):
    try:
        text = pathlib.Path(path).read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None

groups = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
above = [f"/sys/fs/cgroup{groups.get('', '/')}", f"/sys/fs/cgroup/pids{groups.get('pids', '/')}",
         f"/sys/fs/cgroup/memory{groups.get('memory', '/')}", "/sys/fs/cgroup"]
numbers = [limit(f"{place}/pids.max") for place in above] + [limit("/proc/sys/kernel/pid_max"),
                                                             limit("/proc/sys/kernel/threads-max")]
bytes_ = [limit(f"{place}/{name}") for place in above for name in ("memory.max", "memory.limit_in_bytes")]
for number in numbers:
    if number is not None and number < THREADS + 1000:
        skip(f"no more than {number} threads are allowed here")
for size in bytes_ + [1024 * int(re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))]:
    if size is not None and size < 2 << 30:
        skip(f"no more than {size >> 20} MiB of memory may be used here")

SCRIPT = """global n, m, a, all, back probe process("PROGRAM").function("step").call { n++ }
probe process("PROGRAM").function("step").return { m++; a[$return > 0] <<< 1 }
probe process("PROGRAM").function("*").call { all++ } probe process("PROGRAM").function("*").return { back++ }
probe end { printf("%d %d %d %d %d\\n", n, m, @count(a[1]), all >= n, back >= m) }""".replace("PROGRAM", program("many_threads"))
wanted = THREADS * (CALLS + 1)
if VARIANT == "launched":
    result = spile("-e", SCRIPT, "-c", f"{program('many_threads')} {THREADS} {CALLS}").expect(status=0, err="")
    expect(result.out, f"born\ncalls {wanted}\n{wanted} {wanted} {wanted} 1 1\n")
else:
    target = start(program("many_threads"), THREADS, CALLS, "signal", ready="born")
    session = Session("-v", "-e", SCRIPT, "-x", target.pid).attached(target.pid, 60)
    target.send_signal(signal.SIGUSR1)
    result = session.wait().expect(status=0, out=f"{wanted} {wanted} {wanted} 1 1\n")
    expect(target.communicate()[0].decode(), f"calls {wanted}\n")
