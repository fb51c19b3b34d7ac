# Stacks in handlers that run in the kernel: the kernel's own, and those of processes, without frame pointers.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root")
version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
if version < (6, 12):
    skip("handlers work over kernel maps before Linux 6.12")

switch = 'probe kernel.trace("sched:sched_switch") '


def names(text):
    return [line.split(" : ")[1].split("+")[0] for line in text.splitlines() if " : " in line]


# The kernel's stack begins at the tracepoint, not with what calls handlers; both kinds of tracepoints show the same.
for record in ["", "&& $prev_pid == tid() "]:
    out = spile("-DMAXSTRINGLEN=4096", "-e",
                switch + "{ if (pid() == target() " + record + ') { print_backtrace(); println("--\\n", backtrace()); exit() } }',
                "-c", "sleep 0.2").expect(status=0).out
    printed, value = out.split("--\n")
    kernel = names(printed)
    expect(kernel[0], "__schedule", f"{record!r}: {kernel}")
    # It ends where the kernel was entered: by a system call, or by an interrupt that took the processor away.
    expect_true("do_syscall_64" in kernel or kernel[-1].startswith("asm_"), f"{record!r}: {kernel}")
    expect(value.split(), [line.split()[0] for line in printed.splitlines()], "the same addresses as a value")

# One stack, by each function; in functions of the script; as a key; named in the handler and by spile at the end.
out = spile("-DMAXSTRINGLEN=4096", "-e",
            "global n, last function show:string() { return sprint_backtrace() } " + switch + r"""{ if (pid() == target()) {
  n[backtrace()]++
  last = stack(0)
  if (stack(0) == addr() && callers(0) == sprintf("%#x", stack(0)) && callers(1) == sprintf("%#x %#x", stack(0), stack(1))
    && stack(1000) == 0 && stack(-1) == 0) println("same")
  print(show())
  printf("%s %s %s\n", symname(stack(0)), symdata(stack(0)), modname(stack(0)))
  print_syms(callers(0))
  try { println(modname(16)) } catch (m) { println(m) }
  exit() } }
probe end { foreach (s in n) { print_stack(s); println(symname(last), " ", sprint_syms(s)) } }""", "-c",
            "sleep 0.2").expect(status=0).out
expect_match(r"^same$", out)
expect_match(r"^__schedule\+0x[0-9a-f]+ \[kernel\]$", out)
expect_match(r"^__schedule __schedule\+0x[0-9a-f]+/0x[0-9a-f]+ \[kernel\] kernel$", out)
expect_match(r"^ 0xf[0-9a-f]+ : __schedule\+0x[0-9a-f]+/0x[0-9a-f]+ \[kernel\]$", out)
expect_match(r"^no module has the address 0x10$", out)
expect_match(r"^__schedule __schedule\+0x[0-9a-f]+ \[kernel\]$", out)
# MAXBACKTRACE limits what is shown, not what is left out before the probed place.
out = spile("-DMAXBACKTRACE=2", "-e", switch + "{ if (pid() == target()) { print_backtrace(); exit() } }", "-c",
            "sleep 0.2").expect(status=0).out
expect(names(out)[0], "__schedule")
expect(len(names(out)), 2)

# A handler that interrupts a program sees an empty kernel stack.
spile("--runtime=bpf", "-e", 'probe process.function("foo") { print_backtrace(); printf("[%s]\\n", backtrace()) }', "-c",
      f"{program('calls')} 1").expect(
    status=0, out_match=r"^<no kernel backtrace>\n\[\]$")

# Stacks of a process that runs, through frames of libc and a signal's handler: those that handlers walk, and the copies that
# spile walks.
CALLBACK = ["nap", "sized", "compare", None, "sorted", "main"]
HANDLER = ["nap", "on_signal", None, "raised", "main"]


def matches(frames, wanted):
    gap = wanted.index(None)
    inner, outer = wanted[:gap], wanted[gap + 1:]
    return any(frames[i:i + len(inner)] == inner for i in range(len(frames))) and any(
        frames[i:i + len(outer)] == outer for i in range(len(frames)))


def expect_both(stacks, what):
    for wanted in [CALLBACK, HANDLER]:
        expect_true(any(matches(frames, wanted) for frames in stacks), f"{what}: {wanted} in {stacks}")
    expect_true(all(frames[-1] == "_start" for frames in stacks if "main" in frames), f"{what}: {stacks}")


naps = start(program("naps"), 1000000)
wait_turns(naps.pid)
sleeps = "pid() == target() && $prev_state != 0"
result = spile("-DMAXSTRINGLEN=4096", "-e", "global n " + switch + "{ if (" + sleeps + """) n[ubacktrace()]++ }
probe timer.s(2) { exit() } probe end { foreach (s in n) { println("--"); print_usyms(s) } }""", "-x", naps.pid).expect(status=0)
expect_both([names(text) for text in result.out.split("--\n")[1:]], "ubacktrace as a key")
expect_true("cut off" not in result.err, f"whole stacks: {result.err}")
out = spile("-DMAXSTRINGLEN=4096", "-e", "global c " + switch + "{ if (" + sleeps
            + ") { println(\"--\"); print_ubacktrace(); println(\"==\\n\", sprint_ubacktrace()); if (++c == 20) exit() } }",
            "-x", naps.pid).expect(status=0).out
for text in out.split("--\n")[1:]:
    printed, value = text.split("==\n")
    expect([line.split("+")[0] for line in value.split("\n") if line and not line.startswith("0x")], names(printed),
           "names in the handler")
expect_both([names(text.split("==\n")[0]) for text in out.split("--\n")[1:]], "print_ubacktrace")
# spile does not follow this process: its first stacks come as copies, in which a handler's own stack ends at the signal; how many
# do is up to the machine's load.
out = spile("-e", switch + f"{{ if (pid() == {naps.pid} && $prev_state != 0) {{ println(\"--\"); print_ubacktrace() }} }} "
                           f"probe timer.s(3) {{ exit() }}").expect(status=0).out
expect_both([names(text) for text in out.split("--\n")[1:]], "of a process that is not followed")
# What gdb shows of the same kind of stack: the same functions.
if shutil.which("gdb"):
    def shown():
        text = subprocess.run(["gdb", "-p", str(naps.pid), "-batch", "-ex", "bt"], capture_output=True, text=True).stdout
        return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)", text, re.M)
    wait_until(lambda: matches(shown(), ["sized", "compare", None, "sorted", "main"]), 60, "gdb to find the same frames")
naps.kill()
# Samples in user mode, and stacks of threads of the kernel's, which have none in user space.
spinning = server()
sampled = spile("--runtime=bpf", "-e", "global c probe timer.profile { if (pid() == target()) { print_ubacktrace(); "
                                       "if (++c == 20) exit() } }", "-x", spinning.pid).expect(status=0).out
expect_true({"run", "start_thread", "clone3"} <= set(names(sampled)) and "<no user" not in sampled, f"samples: {sampled}")
finish(spinning)
spile("-e", switch + '{ if (execname() =~ "^(kworker|rcu|ksoftirq)") { print_ubacktrace(); printf("[%s]%d\\n", ubacktrace(), '
                     'ustack(0)); print_backtrace(); exit() } }').expect(
    status=0, out_match=r"^<no user backtrace>\n\[\]0\n 0xf[0-9a-f]+ : __schedule\+")
