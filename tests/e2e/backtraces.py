# What a program sees when it walks its own stack: real callers, also where their returns are probed; and these are still
# seen to return.
from spiletest import *

path = program("backtraces")
FUNCTIONS = ["leaf", "middle", "outer", "by_backtrace", "by_unwinder", "by_steps", "thrower", "cleaner", "catcher"]
points = ", ".join(f'process.function("{f}").return' for f in FUNCTIONS)
counting = f'global n probe {points} {{ n[probefunc()]++ }} probe end {{ foreach (f+ in n) printf("%s %d\\n", f, n[f]) }}'


def walks(text):
    # Where the walk itself is may look as it likes; behind main there is the C library.
    found = []
    for line in re.findall(r"^(?:[a-z ]+): (.*)$", text, re.M):
        names = [n for n in line.split() if n in FUNCTIONS + ["main"]]
        found.append(names)
    return found


alone = subprocess.run([path, "walk"], capture_output=True, text=True).stdout
kinds = len(re.findall(r"^[a-z ]+:", alone, re.M)) // 3
expect_true(kinds >= 2, f"walks of the un-probed program: {alone}")
result = spile("-e", counting, "-c", f"{path} walk").expect(status=0)
expect(walks(result.out), walks(alone), f"walks: {result.out}")
expect_true(all(w[-4:] == ["leaf", "middle", "outer", "main"] for w in walks(alone)), alone)
counts = {f: int(n) for f, n in re.findall(r"^(\w+) (\d+)$", result.out, re.M)}
steps = len(re.findall("steps:", alone))
expect(counts, {"by_backtrace": 3, "by_unwinder": 3 * (1 + ("llvm:" in alone)), "catcher": 3, "leaf": 3, "middle": 3,
                "outer": 3, **({"by_steps": steps} if steps else {})})

for how in ["segv", "terminate"]:
    alone = subprocess.run([path, how], capture_output=True, text=True).stdout
    result = spile("-e", counting, "-c", f"{path} {how}")
    expect(walks(result.out), walks(alone), f"{how}: {result.out}")
    expect(walks(alone)[0][-3:], ["middle", "outer", "main"], alone)
