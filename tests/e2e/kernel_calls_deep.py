# Functions of a script may call each other deeper than eBPF lets functions nest: the compiler makes parts of the chain one
# function.
# long
from spiletest import *

if os.geteuid() != 0:
    skip("tracepoints need root")
depth = 15
chain = "".join(f'function f{i}:string(n) {{ if (n == {i}) return "at {i}"; s = f{i + 1}(n); return sprintf("%s<%d", s, n > {depth} ? strlen(f{i + 1}(n - 1)) : n) }}\n' for i in range(depth))
chain += f'function f{depth}:string(n) {{ return sprintf("end %d", n) }}\n'
path = """function path_of(task) { return d_path(&@cast(task_exe_file(task), "file", "kernel")->f_path) }
function shown(task) { return sprintf("[%s]", path_of(task)) }
function both(task) { return shown(task) . shown(task_current()) }
"""
for globals_of in ("", 'probe process.function("foo") { m[1] = m[1] + 1 } '):  # with globals that a process changes, each access is a call
    result = spile("-e", "global m\n" + chain + path + globals_of + """probe kernel.trace("sched:sched_process_exit") {
        if (pid() != target()) next
        m[2] = m[2] + strlen(f0(3))
        printf("%s %s %d %s\\n", f0(2), f0(15), m[1] + m[2] > 0, both(task_current()))
    }""", "-c", f"{program('calls')} 3")
    if "is not available in a handler that runs in the kernel" in result.err:
        skip("handlers have no task functions of this depth without BPF arenas")
    exe = os.path.realpath(program("calls"))
    result.expect(status=0, err="", out_match=rf"^at 2<2<2 end 15(<15){{15}} 1 \[{re.escape(exe)}\]\[{re.escape(exe)}\]$")
