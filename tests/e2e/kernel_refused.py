# What the kernel's side refuses: a clear sentence, status 1.
from spiletest import *

calls = program("calls")
trace = 'probe kernel.trace("sched:sched_switch") '
spile("--runtime=bpf", "-e", 'probe process.function("foo") { println(1) }', "-c", f"{calls} 1", user="nobody").expect(
    status=1, err_match=r"load eBPF programs: Operation not permitted\n  hint: CAP_BPF and CAP_PERFMON are missing: run as root")

if os.geteuid() != 0:
    skip("the rest needs root")
for script, message in [
    ('probe kernel.trace("sched:sched_swich") { exit() }',
     r"no tracepoint 'sched:sched_swich'.*\n(.*\n)*  hint: did you mean 'sched:sched_switch'"),
    (trace + "{ println($nosuch) }", r":1:\d+: .*no field 'nosuch'"),
    (trace + "{ println(returnstr(2)) }", r":1:\d+: error: 'returnstr' needs a probe on a function"),
    (trace + "{ println(symfileline(1)) }", r":1:\d+: error: 'symfileline' is not available in a handler that runs in the "
                                            r"kernel: source lines of the kernel are not known"),
]:
    result = spile("-e", script).expect(status=1, err_match=message)
    expect_match(r"^ +\| +\^", result.err, f"the caret under {script!r}")
# What handlers over the kernel's maps lack is rejected at the script's call, not in the library, and without words of the
# verifier.
for call in ('tokenize("a b", " ")', 'strtol("1", 10)', 'strpos("a", "b")', "probemod()", "backtrace()"):
    spile("-e", f'probe process("/bin/true").begin {{ println({call}) }}').expect(
        status=1, err_match=rf"^<input>:1:44: error: '{call[:call.find('(')]}' is not available in a handler that runs in the "
                            rf"kernel: [^:]*Linux 6.12[^:]*$")
spile("hist", "sched:no_such").expect(status=1, err_match="no tracepoint 'sched:no_such' in this kernel")

# Handlers of system calls run in processes (-c, -x), unless they ask for what the kernel alone has: themselves, in functions, in
# a script's aliases, and in -E.
for name, in_kernel in [("execname()", False), ("task_execname(task_current())", True), ("name_of()", True)]:
    run = spile("-v", "-e", f"probe syscall.getppid {{ println({name}) }} function name_of() {{ "
                            f"return task_execname(task_current()) }}", "-w",
                "-c", f"{program('causes')} facts 2").expect(status=0, out_match=r"^(causes\n){3}$")
    expect_true(("raw tracepoint raw_syscalls:sys_enter" in run.err) == in_kernel, run.err)
for first, more in [("begin {}", "probe syscall.getppid { println(task_execname(task_current())) }"),
                    ("mine { println(task_execname(t)) }", "probe mine = syscall.getppid { t = task_current() }"),
                    ("mine.return { println(task_execname(t)) }",
                     "probe outer = syscall.getppid {} probe mine = outer { t = task_current() }")]:
    spile("-e", f"probe {first}", "-E", more, "-w", "-c",
          f"{program('causes')} facts 2").expect(status=0, out_match=r"^(causes\n){3}$")

# What handlers in the kernel have, among it the task that functions in processes deny.
spile("-e", trace + """{ if (pid() == target()) { printf("%d %d %d\\n", pid2task(pid()) < 0 && ppid() > 0, task_current() < 0 """
                    """&& task_current()->pid == tid(), local_clock_ms() - gettimeofday_ms() < 1000 && ktime_get_ns() > 0 && """
                    """cpu_clock_s(0) > 0); exit() } }""",
      "-c", "sleep 0.2").expect(status=0, out_match=r"^1 1 1$")

# The name of one of many places is known in the handler, also where it calls functions, and in those functions over an arena.
places = 'probe kernel.trace("syscalls:sys_enter_getpp*"), kernel.trace("syscalls:sys_enter_getpg*") '
named = "function show(name, what) { printf(\"%s %s\\n\", name, what) } function what() { return user_string(0, \"none\") }\n"
spile("-p4", "-e", named + places + "{ show(pn(), what()) show(what(), ppfunc()) }").expect(status=0)
over_arena = spile("-p4", "-e", trace + '{ foreach (k in a) println(k) } global a probe begin { a[1] = 1 }').status == 0
deep = spile("-e", """global n  function which() { return sprintf("%s%d", pp(), is_return()) }  function deeper() { return which() }
    probe kernel.trace("syscalls:sys_enter_wait4"), kernel.trace("syscalls:sys_exit_w*4"), kernel.trace("sched:sched_process_exit") { if (pid() == target()) n[deeper()]++ }
    probe end { foreach (place+ in n) printf("%s %d\\n", place, n[place]) }""", "-c", "/bin/true; /bin/true; exit 0")
if over_arena:
    deep.expect(status=0,
                out_match=r'^kernel\.trace\("sched:sched_process_exit"\)0 1\nkernel\.trace\("syscalls:sys_enter_wait4"\)0 '
                          r'([2-9])\nkernel\.trace\("syscalls:sys_exit_wait4"\)0 \1$')
else:
    deep.expect(status=1, err_match=r":1:\d+: error: pp\(\) inside a function, for a probe with many places, is not available")

# The kernel's variables are those of the kernel at tracepoints, too, whatever program is traced.
spile("-e", 'probe kernel.trace("syscalls:sys_enter_getppid") { println(@var("no_such_variable_of_the_kernel")) }', "-c",
      f"{calls} 1").expect(
    status=1, err_match=r"no variable 'no_such_variable_of_the_kernel' in this kernel")

# Where functions of the kernel can't be probed although root may load eBPF programs, capabilities are not the reason.
if not pathlib.Path("/sys/bus/event_source/devices/kprobe").exists():
    refused = spile("-e", 'probe kernel.function("vfs_read") { exit() }', "-T", "20")
    if refused.status != 0:
        expect_match(r"attach kernel.function\(\"vfs_read\"\): this kernel was built without kprobes, and refuses fentry: .*\n  "
                     r"hint: use tracepoints", refused.err)
        expect("CAP_" in refused.err, False, f"capabilities are named: {refused.err}")

# A handler that eBPF has no room for is named by its place.
lines = "\n".join(f's[{i}, execname()] = sprintf("%d %s %d", {i}, execname(), tid()) . sprintf("%x", pid())' for i in range(400))
large = spile("-p4", "-e", 'global s\nprobe kernel.trace("sched:sched_process_exit") { s[0, ""] = "" }\n'
              + 'probe kernel.trace("sched:sched_switch") {\n' + lines + "\n}")
if "tracefs" not in large.err:
    expect_match(r"^spile: <input>:3:1: a handler is too large for the kernel", large.expect(status=1).err)
    # So is one of plain statements, which the eBPF program itself contains: LLVM would end spile.
    lines = "\n".join(f"n += {i} * (n & 7) + gettimeofday_us() % {i + 2}" for i in range(2300))
    plain = spile("-p4", "-DMAXACTION=100000", "-e", 'global n\nprobe kernel.trace("sched:sched_switch") {\n' + lines + "\n}")
    expect_match(r"^spile: <input>:2:1: a handler is too large for the kernel", plain.expect(status=1).err)
