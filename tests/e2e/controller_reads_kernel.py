# Begin, end and timer probes read the kernel's memory where spile may: tasks, variables, addresses that probes in the kernel
# kept.
from spiletest import *


def output(script, *options, command="sleep 0.2"):
    run = spile("-e", script, *options, "-c", command)
    expect((script, run.status, run.err), (script, 0, ""), "run")
    return run.out


if os.geteuid() != 0 or not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
    skip("reading the kernel's memory needs root and the kernel's type information")

# The task that runs is spile's own, in every probe that spile runs itself.
facts = 'printf("%s %d %d|", task_execname(task_current()), task_tid(task_current()) == tid(), task_current()->tgid == pid())'
expect(output(f'probe begin {{ {facts} }} probe timer.ms(20) {{ if (n++ == 0) {facts} }} global n probe end {{ {facts} }}').split(
    "n=")[0], "spile 1 1|" * 3, "its own task")

# Tasks by their numbers: as many as there are, wherever they stand in the kernel's tree.
sleepers = [subprocess.Popen(["sleep", "30"]) for _ in range(40)]
try:
    wait_until(lambda: all(pathlib.Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n" for child in sleepers), 30,
               "the sleepers to be executed")
    numbers = [1, 2] + [child.pid for child in sleepers]
    names = [pathlib.Path(f"/proc/{number}/comm").read_text().strip() for number in numbers]
    body = "".join(f'printf("%d %s|", task_pid(pid2task({number})), task_execname(pid2task({number})))\n' for number in numbers)
    out = output("probe begin {\n" + body + "}", "-DMAXACTION=100000")
    expect(out, "".join(f"{number} {name}|" for number, name in zip(numbers, names)), "tasks by number")
    parent = f'task_pid(task_parent(pid2task({sleepers[0].pid})))'
    expect(output(f'probe timer.ms(20) {{ if (n++ == 0) printf("%d", {parent}) }} global n probe end {{ n = 0 }}').split("\n")[0],
           str(os.getpid()), "the parent")
finally:
    for child in sleepers:
        child.kill()
        child.wait()
expect(output('probe begin { printf("%d %d %d %d", pid2task(0), pid2task(-1), pid2task(4194304), '
              'pid2task(0x7fffffffffffffff)) }'), "0 0 0 0", "numbers that no task has")

# What a probe in the kernel kept, a timer reads while the task lives.
script = ('global kept probe kernel.trace("sched:sched_process_exec") { if (pid() == target()) kept = task_current() }\n'
          'probe timer.ms(50) { if (kept) { printf("%s %d", kernel_string_n(&@cast(kept, "task_struct", "kernel")->comm, 16), '
          '@cast(kept, "task_struct", "kernel")->tgid == target()); exit() } }')
expect(output(script, command="sleep 20"), "sleep 1", "what a probe in the kernel kept")

# Variables of the kernel, where it lists them.
names = {line.split()[2] for line in open("/proc/kallsyms")}
if "nr_cpu_ids" in names:
    expect(int(output('probe begin { printf("%d", @var("nr_cpu_ids", "kernel")) }')) >= os.cpu_count(), True,
           "the number of processors")
if "avenrun" in names:
    expect(len([number for number in output("probe begin { println(sprint_loadavg()) }").split() if 0 <= float(number) < 10000]),
           3, "load averages")

# Strings of every length and place, against words of the same bytes.
check = ('probe begin { at = &task_current()->comm; text = kernel_string_n(at, 16)\n'
         'for (i = 0; i < strlen(text); i++) if (stringat(text, i) != kernel_char(at + i)) error("differs")\n'
         'printf("%s %d", kernel_buffer_quoted(at, 3), kernel_long(at) != 0) }')
expect(output(check), '"spi" 1', "characters")

# What is not there, or not the kernel's, is an error that can be caught, and never a 0.
for address in ["0xffffffffffffff00", "0", "0x1000", "&task_current()->comm + 0x7000000000000"]:
    expect(output(f'probe begin {{ try {{ printf("%d", kernel_long({address})) }} catch {{ printf("caught") }} }}'),
           "caught", address)

# An ordinary user may not, and is told so.
run = spile("-e", 'probe begin { try { println(kernel_long(task_current())) } catch (e) { println(e) } exit() }', user="nobody")
expect((run.status, "WARNING: begin, end and timer probes can't read the kernel's memory: " in run.err,
        run.out.startswith("task_current: only available")),
       (0, True, True), "an ordinary user")
