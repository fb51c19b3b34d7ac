# Facts of the current process and delays in handlers in the kernel, against what the process sees itself; and packets, which the
# thread that sends them handles.
# variants: process ancestors delays packets
from spiletest import *

PYTHON = f"exec {os.path.realpath(sys.executable)} -S -E"


def kernel(*arguments):
    result = spile("-o", "/dev/stderr", *arguments)
    if "Operation not permitted" in result.err or "no tracepoint" in result.err:
        skip(result.err.strip())
    return result.expect(status=0).err


if VARIANT == "process":
    work = temporary_directory() / "work.py"
    work.write_text("""import os, time
block = bytearray(20 << 20)
while time.process_time() < 0.6: sum(range(1000))
pages = open("/proc/self/statm").read().split()
print("own", *pages, os.times()[0] + os.times()[1], flush=True)
os.chdir("/")
""")
    err = kernel("--runtime=bpf", "-e", """probe syscall.chdir { if (pid() == target())
  printf("seen %d %d %d %d %d %d %d %d\\n", proc_mem_size(), proc_mem_rss(), proc_mem_txt(), proc_mem_data(), task_utime() + task_stime(),
         task_utime_tid(tid()) + task_stime_tid(tid()), (ktime_get_ns() - task_start_time()) / 1000000000, task_start_time(tid()) == task_start_time()) }
probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) printf("text %s %s\\n", proc_mem_string(), task_time_string()) }""", "-c", f"{PYTHON} {work} >&2")
    own = [float(word) for word in re.search("own (.*)", err)[1].split()]
    seen = [int(word) for word in re.search("seen (.*)", err)[1].split()]
    expect(seen[0], int(own[0]), err)
    expect_true(abs(seen[1] - own[1]) < 2048, err)  # pages; each processor has some pages of its own
    expect(seen[2:4], [int(own[3]), int(own[5])], err)
    expect_true(60 <= 100 * own[7] + 1 and -2 <= seen[4] - 100 * own[7] < 100, err)  # ticks
    expect_true(seen[5] == seen[4] and 0 <= seen[6] < 3600 and seen[7] == 1, err)
    expect_match(r"text size: .*, rss: .*, shr: .*, txt: .*, data: .*usr: 0m\d\.\d+s, sys: 0m\d\.\d+s", err)
elif VARIANT == "ancestors":
    err = kernel("--runtime=bpf", "-e", """probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) { t = task_current(); println(task_ancestry(t, 0)); println(task_ancestry(t, 1)); println(pstrace(t))
  printf("%d\\n", stack_size()); try { println("load ", sprint_loadavg()) } catch (m) { println(m) } try { get_loadavg_index(3) } catch (m) { println(m) } } }""", "-c", "exec sleep 0")
    expect_match(r"=>spile=>sleep$", err)
    expect_match(r"=>spile\(\d+\.\d{3}\)=>sleep\(\d+\.\d{3}\)$", err)
    expect_match(rf"^sleep\(\d+\)<-spile\(\d+\)<-.*\({os.getpid()}\)", err)
    expect_match("^16384$", err)
    expect_match(r"^(load \d+\.\d\d \d+\.\d\d \d+\.\d\d|get_loadavg_index: this kernel does not list its variables.*)$", err)
    expect_match("^get_loadavg_index: 3 is not 0, 1 or 2$", err)
    # On the stack that the kernel has for the thread, and outside of the kernel.
    expect(spile("-e", "probe begin { try { println(stack_used()) } catch (m) { println(m) } exit() }").expect(status=0).out,
           "stack_used: only available to probes that run in the kernel; --runtime=bpf has those of processes and system "
           "calls run there\n")
elif VARIANT == "delays":
    for script, name in [("probe kernel.trace(\"sched:sched_process_exec\") { mdelay(1) }", "mdelay"),
                         ("function f() { udelay(1) } probe kernel.trace(\"sched:sched_process_exec\") { f() }", "udelay")]:
        err = spile("-p2", "-e", script).expect(status=1).err
        expect_match(rf"<input>:1:\d+: error: '{name}' holds up the traced program, which needs guru mode", err)
        expect_match("hint: run spile with -g", err)
    err = kernel("-g", "-e", """probe kernel.trace("sched:sched_process_exec") { if (pid() == target()) { a = gettimeofday_us(); udelay(300); b = gettimeofday_us(); mdelay(2); c = gettimeofday_us()
  printf("%d %d\\n", b - a >= 300, c - b >= 2000); try { mdelay(101) } catch (m) { println(m) } } }""", "-c", "true")
    expect(err, "1 1\nmdelay: 101000 microseconds: a handler in the kernel may take 100000 at most\n")
else:
    # In a network of its own, where nobody else sends.
    work = temporary_directory() / "send.py"
    work.write_text("""import socket
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(7): s.sendto(b"x" * 50, r.getsockname())
""")
    script = """global n probe netfilter.ipv4.local_out { n[pid() == target(), tid() == target(), execname(), euid(), task_current() == pid2task(pid())]++ }
probe end { foreach ([a, b, name, user, same] in n) printf("%d %d %s %d %d %d\\n", a, b, name, user, same, n[a, b, name, user, same]) }"""
    name = os.path.basename(os.path.realpath(sys.executable))[:15]
    try:
        result = subprocess.run(["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', SPILE, "-o", "/dev/stderr",
                                 "-e", script, "-c", f"{PYTHON} {work}"],
                                capture_output=True, text=True)
    except FileNotFoundError as missing:
        skip(str(missing))
    for reason in ("Operation not permitted", "not found", "does not run programs", "asks which thread runs", "no probe"):
        if result.returncode != 0 and reason in result.stderr:
            skip(result.stderr.strip())
    expect(result.stderr, f"1 1 {name} 0 1 7\n")
