# `spile hist`: known numbers of reads and sleeps of the command, by tracepoints; what it prints; wrong words.
# long
from spiletest import *

script = r'''
import os, time
zero = os.open("/dev/zero", os.O_RDONLY)
for n in range(1, 6):
    for i in range(n * 10): os.read(zero, 100000 + n)
for i in range(5): time.sleep(0.001)
if os.fork() == 0:
    for i in range(7): os.read(zero, 100009)
    os._exit(0)
os.wait()
'''
reader = temporary_directory() / "reader.py"
reader.write_text(script)
command = f"/usr/bin/python3 -S {reader}"


def hist(*words):
    result = spile("hist", *words, "-c", command)
    if "Operation not permitted" in result.err:
        skip(result.err.strip())
    return result.expect(status=0)


def entries(result):
    return [line for line in result.out.splitlines() if line.startswith("{")]


ours = "if count > 100000 && count < 100010"
result = hist("syscalls:sys_enter_read", "keys=count", "vals=count", "sort=count.descending", ours).expect(
    out_match=r"^# event histogram\n#\n# trigger info: syscalls:sys_enter_read "
              r"hist:keys=count:vals=hitcount,count:sort=count.descending:size=2048 if count > 100000 && "
              r"count < 100010\n#\n\n(.|\n)*\nTotals:\n    Hits: 157\n    Entries: 6\n    Dropped: 0\n$")
expect(entries(result), [f"{{ count: {100000 + n:>10} }} hitcount: {hits:>10}  count: {hits * (100000 + n):>10}"
                         for n, hits in [(5, 50), (4, 40), (3, 30), (2, 20), (1, 10), (9, 7)]])

# By two keys and two orders; of the child and its parent; rounded, and with shares.
two = entries(hist("syscalls:sys_enter_read", "keys=count.buckets=2,common_pid.execname", "sort=hitcount,count", ours))
expect([(line.split()[3], line.split()[-1]) for line in two],
       [("100008-100009,", "7"), ("100000-100001,", "10"), ("100002-100003,", "50"), ("100004-100005,", "90")])
expect(len({line.split("[")[1].split("]")[0] for line in two}), 2)
rounded = entries(hist("syscalls:sys_enter_read", "hist:keys=count.log2:vals=count.hex,hitcount.percent,count.graph " + ours))
expect(rounded, ["{ count: ~ 2^17 } hitcount:        157  count:     ef9285  hitcount (%): 100.00  count: " + 20 * "#"])
expect(int("ef9285", 16), sum(hits * (100000 + n) for n, hits in [(5, 50), (4, 40), (3, 30), (2, 20), (1, 10), (9, 7)]))

# Filters on texts; the maximum with what was there; a table that is full.
expect(
    entries(hist("syscalls:sys_enter_read", "keys=comm",
                 f"{ours} && (comm ~ \"pyth*\" || comm == nobody) && !(count == 100009)"))[0].split()[-1], "150")
saved = entries(hist("syscalls:sys_enter_read", "keys=comm", "onmax(count).save(common_pid,count)", ours))
expect_true(re.fullmatch(r"\{ comm: python3 +\} hitcount:        157  max:     100009  common_pid: +\d+  count:     100009",
                         saved[0]), saved)
spile("hist", "syscalls:sys_enter_read", "keys=count", "size=2", ours, "-c", command).expect(
    status=0, out_match=r"    Entries: 2\n    Dropped: [1-9]\d+\n$", err_match="updates lost, array full")

# Between two events: five sleeps of a millisecond each.
slept = entries(hist("syscalls:sys_enter_clock_nanosleep", "syscalls:sys_exit_clock_nanosleep", "match=common_pid", "keys=comm",
                     "vals=latency,latency_us"))
match = re.fullmatch(r"\{ comm: python3 +\} hitcount:          5  latency: +(\d+)  latency_us: +(\d+)", slept[0])
expect_true(match and 5_000_000 <= int(match[1]) and int(match[1]) - 5000 <= int(match[2]) * 1000 <= int(match[1]), slept)
expect(
    sum(int(line.split()[-1]) for line
        in entries(hist("syscalls:sys_enter_clock_nanosleep", "syscalls:sys_exit_clock_nanosleep", "match=common_pid"))), 5)

# The record's state of a thread that sleeps (1), where the tracepoint has an argument of that name, too.
states = entries(hist("sched:sched_switch", "keys=prev_state", 'if prev_comm == "python3" && prev_state & 1'))
expect_true(len(states) == 1 and re.match(r"\{ prev_state:          1 \} hitcount: +\d+$", states[0]), states)

# Of a running process and a child that it makes then; the session ends when the process does.
go = temporary_directory() / "go"
waiter = temporary_directory() / "waiter.py"
waiter.write_text(f"""
import os, time
while not os.path.exists({str(go)!r}): time.sleep(0.05)
child = os.fork()
zero = os.open("/dev/zero", os.O_RDONLY)
for i in range(6): os.read(zero, 200000)
if child: os.waitpid(child, 0)
""")
waiting = start("/usr/bin/python3", "-S", waiter)
attached = spile("hist", "syscalls:sys_enter_read", "keys=count", "if count == 200000", "-x", waiting.pid, "-E",
                 f'probe timer.ms(50) {{ if (!started++) system("touch {go}") }} global started', timeout=60)
attached.expect(status=0)
expect(entries(attached), ["{ count:     200000 } hitcount:         12"])

# In a process, without the kernel: its functions, its symbols.
calls = spile("hist", 'process.function("foo")', "keys=caller.sym,common_pid.execname", "-c",
              f"{program('calls')} 1000").expect(status=0)
expect_true(re.search(r"^\{ caller: \[[0-9a-f]+\] main +, common_pid: calls +\[ +\d+\] \} hitcount:       1000$", calls.out,
                      re.M), calls.out)

# The script that it makes is one: it runs as it is printed.
printed = spile("-p1", "hist", "syscalls:sys_enter_read", "keys=count.log2", "vals=count",
                ours).expect(status=0, out_match=r"^probe kernel.trace\(\"syscalls:sys_enter_read\"\) \{$").out
spile("-p2", "-", input=printed).expect(status=0, err="")

for words, message in [([], "hist needs an event"), (["sched:sched_switch"], "needs keys="),
                       (["sched:sched_swich", "keys=a"], "hint: did you mean 'sched:sched_switch'"),
                       (["sched:*", "keys=a"], "hist counts one event"),
                       (["sched:sched_switch", "keys=next_com"], "did you mean 'next_comm'\\? the fields are prev_comm"),
                       (["sched:sched_switch", "keys=next_pid.hexx"], "unknown modifier '.hexx'"),
                       (["sched:sched_switch", "keys=next_pid", "if next_pid = 5"], "column 10: an operator"),
                       (["sched:sched_switch", "keys=next_pid", "sort=prev_pid"], "sort=prev_pid: neither a key nor a value"),
                       (["no.such", "keys=a"], "unknown probe point 'no.such'\n  hint: an event is SYSTEM:EVENT"),
                       (["kernel.function:vfs_read", "keys=a"],
                        "'kernel.function:vfs_read' is neither a tracepoint nor a probe point\n  "
                        "hint: did you mean 'kernel.function\\(\"vfs_read\"\\)'"),
                       (["kretprobe:vfs_read", "keys=a"], "hint: did you mean 'kernel.function\\(\"vfs_read\"\\).return'"),
                       (["tracepoint:sched:sched_switch", "keys=a"], "did you mean 'sched:sched_switch'"),
                       (["process.function(\"nosuch\")", "keys=caller", "-c", f"{program('calls')} 1"], "no function 'nosuch'")]:
    spile("hist", *words).expect(status=1, out="", err_match=message)
