# What the language says does the same in the kernel as in spile itself: tests/language/corpus.txt, statement for statement.
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
    there = spile("-e", f'{declarations}\nprobe kernel.trace("sched:sched_process_exit") {{ if (pid() == target()) {{ {body}\n }} }}', "-c", "/bin/true")
    if "recursion is not available" in there.err or "is not available in a handler that runs in the kernel" in there.err:
        skip("this kernel has no BPF arenas: " + there.err.splitlines()[0])
    if of_places(here.out) != of_places(there.out) or here.status != there.status:
        differ.append(f"{name}: in spile ({here.status}):\n{here.out}{here.err}in the kernel ({there.status}):\n{there.out}{there.err}")
expect("\n".join(differ), "", "the same output in both places")

# A handler of many statements either runs or is rejected with a sentence.
piece = 'a[%d, execname()] = n; foreach ([x, y] in a) { if (x > 3) n++; else s = s . "x" } t = sprintf("%%d-%%s", %d, s); println(t)\n'
for count in (10, 60):
    body = "".join(piece % (i, i) for i in range(count))
    large = spile("-DMAXACTION=100000", "-e", f'global a, n, s probe kernel.trace("sched:sched_process_exit") {{ if (pid() == target()) {{ {body} }} }}', "-c", "/bin/true")
    if large.status == 0:
        expect(len(large.out.splitlines()), count, f"lines of {count} statements")
    else:
        expect(count, 60, "which number of statements is too large")
        expect_match("a handler is too large for the kernel.*\n  hint: split the probe", large.err, "the reason")
