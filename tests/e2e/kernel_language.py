# What the language says does the same in the kernel as in spile itself: tests/language/corpus.txt, statement for statement.
# long
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")


def blocks():
    corpus = (ROOT / "tests/language/corpus.txt").read_text()
    for block in re.split(r"^=== ", corpus, flags=re.M)[1:]:
        name, rest = block.split("\n", 1)
        declarations, body = rest.split("\n---\n", 1)
        yield name, declarations, body


def of_places(text):
    return re.sub(r"<input>:\d+:\d+", "<place>", text)


differ = []
for name, declarations, body in blocks():
    here = spile("-e", f"{declarations}\nprobe begin {{ {body}\n exit() }}")
    # The command's own exit, once: nothing else on the machine runs the body.
    there = spile("-e", f'{declarations}\nprobe kernel.trace("sched:sched_process_exit") {{ if (pid() == target()) {{ {body}\n '
                        f'}} }}', "-c", "/bin/true")
    if "recursion is not available" in there.err or "is not available in a handler that runs in the kernel" in there.err:
        skip("this kernel has no BPF arenas: " + there.err.splitlines()[0])
    # Two scripts that are rejected with one error would be equal, too.
    expect("analysis failed" in here.err or "parse failed" in here.err, False, f"{name} is rejected: {here.err}")
    if of_places(here.out) != of_places(there.out) or here.status != there.status:
        differ.append(f"{name}: in spile ({here.status}):\n{here.out}{here.err}in the kernel ({there.status}):\n"
                      f"{there.out}{there.err}")
expect("\n".join(differ), "", "the same output in both places")

# The same script makes the same program, wherever the compiler's own data lie: functions that call themselves are taken apart and
# put together.
recursive = [(declarations, body) for name, declarations, body in blocks() if name.startswith("recursion")]
script = "".join(f'{declarations}\nprobe kernel.trace("sched:sched_process_exit") {{ {body} }}\n' for declarations,
                 body in recursive)
programs = {spile("--disable-cache", "-p4", "--print-after", "optimize-kernel", "-e", script).expect().out for _ in range(4)}
expect(len(programs), 1, "programs of one script")
expect_match(r"define .*recursion", programs.pop(), "the program")

# A handler of many statements either runs or is rejected with a sentence.
piece = ('a[%d, execname()] = n; foreach ([x, y] in a) { if (x > 3) n++; else s = s . "x" } t = sprintf("%%d-%%s", %d, s); '
         'println(t)\n')
for count in (10, 60):
    body = "".join(piece % (i, i) for i in range(count))
    large = spile("-DMAXACTION=100000", "-e", f'global a, n, s probe kernel.trace("sched:sched_process_exit") {{ '
                                              f'if (pid() == target()) {{ {body} }} }}', "-c", "/bin/true")
    if large.status == 0:
        expect(len(large.out.splitlines()), count, f"lines of {count} statements")
    else:
        expect(count, 60, "which number of statements is too large")
        expect_match("a handler is too large for the kernel.*\n  hint: split the probe", large.err, "the reason")

# Names and numbers of processes are fetched into room on the kernel's small stack, which one use takes over from another.
uses = " ".join(f'printf("%d %s {i}\\n", pid() == target(), execname());' for i in range(100))
many = spile("-e", f'probe kernel.trace("sched:sched_process_exit") {{ if (pid() == target()) {{ {uses} }} }}', "-c", "/bin/true")
expect(many.out, "".join(f"1 true {i}\n" for i in range(100)), f"many names: {many.err}")

# Where a script's arrays would take too much memory over an arena, an error says so, and not what older kernels lack.
tracepoint = 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) '
large = spile("-DMAXMAPENTRIES=2000000", "-e", f'global a, b {tracepoint} {{ a[execname(), "x"] = "y"; b[execname(), "z"] = "y"; '
                                               f'if (execname() =~ "(t)") println(matched(1)) }} }}', "-c", "/bin/true")
expect_match(r"matched\(\) is not available.*\n(.*\n)*  hint: this needs smaller arrays or strings .*: on all processors "
             r"together they take \d+ MiB, and may take \d+ MiB", large.expect(status=1).err)
large = spile("-DMAXSTRINGLEN=16384", "-DMAXMAPENTRIES=20000", "-e", f'global a {tracepoint} {{ a[execname(), "x"]++ }} }}', "-c",
              "/bin/true")
expect_match(r"strings of at most 512 bytes\n  hint: this needs smaller arrays or strings", large.expect(status=1).err)

# Structures of any size are printed: each value where it is written, and the runtime's functions called instead of contained.
for variable in ("$next->cred$", "$next->mm$", "$next$", "$next->mm$$", "$next$$"):
    printed = spile("-e", f'probe kernel.trace("sched:sched_switch") {{ if ($next->tgid == target()) {{ println({variable}); '
                          f'exit() }} }}', "-c", "sleep 0.2")
    expect(printed.status, 0, f"{variable}: {printed.err}")
    expect_match(r"^\{.*\.[a-z_]+=.*", printed.out, variable)
many = " ".join(f'printf("%d\\n", strlen(sprintf("%d %s", $next->prio + {i}, execname())) > 4);' for i in range(24))
printed = spile("-e", f'probe kernel.trace("sched:sched_switch") {{ if ($next->tgid == target()) {{ {many} exit() }} }}', "-c",
                "sleep 0.2")
expect(printed.out, "1\n" * 24, f"many strings: {printed.err}")
