# Lists: tracepoints of the kernel with their fields, and why some events are not among them; the functions of a program.
from spiletest import *

traced = spile("-l", 'kernel.trace("sched:sched_switch")')
if "Operation not permitted" in traced.err or "Permission denied" in traced.err:
    skip(traced.err.strip())
traced.expect(out='kernel.trace("sched:sched_switch")\n', status=0)

# Every tracepoint once, sorted, and none of the events that only describe what ftrace's tracers write.
points = spile("-l", 'kernel.trace("*")').expect(status=0, err="").out.splitlines()
expect(points, sorted(set(points)))
expect_true(len(points) > 500, f"{len(points)} tracepoints")
expect_true(not any('"ftrace:' in point for point in points), "events of the system ftrace are listed")
with_fields = spile("-L", 'kernel.trace("*")').expect(status=0, err="").out.splitlines()
expect(sorted(line.split(") ")[0].removesuffix(")") for line in with_fields), sorted(point.removesuffix(")") for point in points))
spile("-L", 'kernel.trace("sched:sched_waking")').expect(
    out_match=r'^kernel.trace\("sched:sched_waking"\) \$p:struct task_struct\* \$comm:[^$]*char[^$]* \$pid:pid_t \$prio:int \$target_cpu:int$')
for name in ["ftrace:print", "ftrace:*"]:
    spile("-l", f'kernel.trace("{name}")').expect(status=1, out="", err_match="can't be probed: the events of the system ftrace")
spile("-e", 'probe kernel.trace("ftrace:print") { exit() }').expect(status=1, err_match="can't be probed(.|\n)*hint: spile -l")

# Of functions, the same with and without variables; -v has nothing to say of a program.
binary = program("calls")
plain = spile("-l", f'process("{binary}").function("*")').expect(status=0).out.splitlines()
detailed = spile("-v", "-L", f'process("{binary}").function("*")').expect(status=0, err="").out.splitlines()
expect(sorted({re.match(r'process\("[^"]*"\)\.function\("[^"]*"\)\S*', line)[0] for line in detailed}), plain)
