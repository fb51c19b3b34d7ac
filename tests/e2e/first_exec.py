# With -c, handlers in the kernel see the command's own execve, as SystemTap's do, and before it nothing but the end of its wait
# for them.
from spiletest import *

if os.geteuid() != 0:
    skip("handlers in the kernel need root")
script = """probe kernel.trace("syscalls:sys_enter_execve") { if (pid() == target()) printf("exec %s\\n", user_string($filename))
  }
probe kernel.trace("sched:sched_process_exec") { if (pid() == target()) printf("runs %s\\n", execname()) }"""
expect(set(spile("-e", script, "-c", "/bin/echo hi").expect(status=0, err="").out.splitlines()),
       {"hi", "exec /bin/echo", "runs echo"})
calls = spile("-e", """global n probe kernel.trace("raw_syscalls:sys_enter") { if (pid() == target()) { printf("enters %d\\n",
  $id) if (n++ == 5) exit() } }
probe kernel.trace("raw_syscalls:sys_exit") { if (pid() == target()) { printf("leaves %d\\n", $id) if (n++ == 5) exit() } }""",
              "-c", "/bin/true").expect(status=0, err="").out
expect(calls.splitlines()[:5], ["leaves 7", "enters 14", "leaves 14", "enters 59", "leaves 59"], "poll, sigprocmask, execve")
# What can't be executed is an error before anything runs, or at its execution.
spile("-e", 'probe begin { println("begun") } ' + script, "-c",
      "/nowhere/echo").expect(status=1, out="", err_match="/nowhere/echo")
spile("-e", script, "-c", "/etc/passwd").expect(status=1, out="", err_match="run /etc/passwd: Permission denied")
# The shell executes the last command of its words by itself.
lines = spile("-e", script, "-c", "exec /bin/echo $((1 + 1))").expect(status=0, err="").out.splitlines()
expect(set(lines), {"2", "exec /bin/sh", "runs sh", "exec /bin/echo", "runs echo"})
