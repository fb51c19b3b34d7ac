# The arguments of tracepoints, typed by the kernel's type information, beside the fields of their records.
# variants: arguments maps rules
from spiletest import *

if os.geteuid() != 0:
    skip("needs root; the virtual machine's tests cover it")
if not os.path.exists("/sys/kernel/btf/vmlinux"):
    skip("this kernel has no type information")

# sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, ...): the process gives up the processor, by its
# own record too.
SCRIPT = """global n, wrong, records
probe kernel.trace("sched:sched_switch") { if (pid() == target()) { n++;
  if ($prev->pid != tid() || $prev->tgid != pid() || $next->pid == tid() || $preempt > 1) wrong++ } }
probe kernel.trace("sched:sched_switch") { if (pid() == target() && $prev_pid == tid()) records++ }
%s
probe end { printf("%%d %%d %%d\\n", n >= 20, wrong, n == records) }"""
COMMAND = f"{sys.executable} -c 'import time; [time.sleep(0.002) for i in range(20)]'"

if VARIANT == "arguments":
    result = spile("-v", "-o", "/dev/stderr", "-e", SCRIPT % "", "-c", COMMAND)
    result.expect(err_match="^1 0 1$", status=0)
    expect_match("raw tracepoint sched:sched_switch", result.err, "messages")
    # Handlers of many blocks, whose values are kept in memory.
    for field in "$prev->pid", "$prev_pid":
        spile("-o", "/dev/stderr", "-e", f"""probe kernel.trace("sched:sched_switch")
{{ if (pid() == target()) {{ s = sprintf("%d", {field}); t = sprintf("%d", {field} + 1)
if (strlen(t) < 3) println("short"); println(s == sprintf("%d", tid()), {field} == tid(), strtol(t, 10) == tid() + 1); exit() }}
}}""", "-c", COMMAND).expect(err_match="^111$", status=0)
    # Strings, pretty printing, a pattern; the two threads of a switch.
    spile("-o", "/dev/stderr", "-e", """probe kernel.trace("sched_process_exec") { if (pid() == target()) printf("%s %d %d %s\\n",
      $bprm->filename$, $p->pid == tid(), $old_pid == tid(), pp()) }
probe kernel.trace("sched:sched_process_exi*") { if (tid() == target()) printf("%d %d\\n", $p == task_current(),
  strpos($$parms, "p=0xffff")) }""", "-c", "exec sh -c 'exec /bin/true'").expect(
        err_match=r'(?s)^"/bin/true" 1 1 kernel.trace\("sched:sched_process_exec"\)$.*^1 0$', status=0)

if VARIANT == "maps":
    # Lives of processes run over maps of the kernel, as all do before Linux 6.12.
    spile("-o", "/dev/stderr", "-e", SCRIPT % "global ended probe process.end { ended++ }", "-c", COMMAND,
          "--runtime=bpf").expect(err_match="^1 0 1$", status=0)

if VARIANT == "rules":
    def refused(script, pattern):
        spile("-e", script).expect(status=1, err_match=pattern)

    refused('probe kernel.trace("sched:sched_switch") { println($prev->pid + $prev_pid) }',
            r"'\$prev_pid' is a field of the tracepoint's record, which is not there")
    refused('probe kernel.trace("sched:sched_switch") { println($prev->pidd) }', "did you mean")
    refused('probe kernel.trace("sched:sched_switch") { println($prex) }', r"has no field 'prex'")
    refused('probe kernel.trace("syscalls:sys_enter_read") { println($regs) }', "has no field 'regs'")
    listed = spile("-L", 'kernel.trace("sched:sched_switch")').expect(status=0).out
    expect_match(r"\$prev:struct task_struct\* .*\$prev_comm:char\[16\]", listed, "the list")
    # What is asked about does not decide, and a field that is an argument too is found beside fields of the record.
    spile("-o", "/dev/stderr", "-e", """global n probe kernel.trace("sched:sched_switch") {
      if (@defined($prev->pid)) n["defined"]++; if ($prev_pid > 0 && $prev_state >= 0) n["record"]++ }
probe timer.ms(100) { exit() } probe end { printf("%d %d\\n", n["defined"], n["record"] > 0) }""", "-c",
          COMMAND).expect(err_match="^0 1$", status=0)
    spile("-o", "/dev/stderr", "-e", """global n probe kernel.trace("sched:sched_switch") {
      if (pid() == target()) n += @cast($prev, "task_struct", "kernel")->pid == tid() }
probe end { println(n > 10) }""", "-c", COMMAND).expect(err_match="^1$", status=0)
