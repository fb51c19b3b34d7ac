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
    (trace + '{ t = sprintf("%d", pid()); println(t) }', r":1:\d+: .*sprintf"),
    ("global a " + trace + "{ foreach (k in a) println(k) } probe begin { a[1] = 1 }", r":1:\d+: .*foreach"),
    (trace + "{ try { println(1) } catch { println(2) } }", r":1:\d+: .*try"),
    ("function f:long(n) { if (n > 0) return f(n - 1); return 0 } " + trace + "{ println(f(3)) }", r":1:\d+: .*recursion"),
]:
    result = spile("-e", script).expect(status=1, err_match=message)
    expect_match(r"^ +\| +\^", result.err, f"the caret under {script!r}")
spile("--runtime=bpf", "-e", 'probe process.function("foo") { println($$parms) println($arg$) }', "-c", f"{calls} 1").expect(
    status=1, err_match=r"(?s)'\$\$parms', which is a string, is not available.*  hint: print its values one by one: .*Pass 3: translation failed")
