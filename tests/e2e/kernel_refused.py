# What the kernel's side refuses: a clear sentence, status 1.
from spiletest import *

calls = program("calls")
trace = 'probe kernel.trace("sched:sched_switch") '
spile("--runtime=bpf", "-e", 'probe process.function("foo") { println(1) }', "-c", f"{calls} 1", user="nobody").expect(
    status=1, err_match=r"load eBPF programs: Operation not permitted\n  hint: run as root")

if os.geteuid() != 0:
    skip("the rest needs root")
for script, message in [
    ('probe kernel.trace("sched:sched_swich") { exit() }', r"no tracepoint 'sched:sched_swich'.*\n(.*\n)*  hint: did you mean 'sched:sched_switch'"),
    (trace + "{ println($nosuch) }", r":1:\d+: .*no field 'nosuch'"),
    ("function f:long(n) { if (n > 0) return f(n - 1); return 0 } " + trace + "{ println(f(3)) }", r":1:\d+: .*recursion"),
]:
    result = spile("-e", script).expect(status=1, err_match=message)
    expect_match(r"^ +\| +\^", result.err, f"the caret under {script!r}")
