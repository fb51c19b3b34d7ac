# Frames of callers have the line and the function of the call, not those behind it: in print_ubacktrace_fileline(), and for
# usymname() and its kin of ustack(n) and caller_addr().
from spiletest import *

binary = program("caller_lines")
SOURCE = open(f"{ROOT}/tests/programs/caller_lines.c").read().splitlines()
LINES = {mark: n for n, line in enumerate(SOURCE, 1) for mark in [line.split("// ")[-1]] if "// " in line}
WANTED = [["probed", "twice", "main, first"], ["probed", "leaves", "ends", "main, last"]]

result = spile("-e", """probe process.function("probed").call {
  print_ubacktrace_fileline() printf("%s\\n", caller())
  for (n = 0; n < 4; n++) {
    if (ustack(n)) printf("= %s %s ", usymname(ustack(n)), usymline(ustack(n)))
    if (ustack(n)) printf("%s %s\\n", usymfile(ustack(n)), usymfileline(ustack(n)))
    if (ustack(n)) printf("# %s\\n", usymdata(ustack(n)))
  }
  printf("> %s %s %x\\n", usymname(caller_addr()), usymline(caller_addr()), caller_addr())
}""", "-c", binary).expect(status=0)
stacks = [[]]
for line in result.out.splitlines():
    frame = re.match(r" 0x([0-9a-f]+) : (\w+)\+0x[0-9a-f]+/.* at .*caller_lines\.c:(\d+)$", line)
    if frame:
        stacks[-1].append((frame[2], int(frame[3])))
    elif line.startswith("> "):
        stacks.append([])
own = [[(mark.split(",")[0], LINES[mark]) for mark in marks] for marks in WANTED]
expect([stack[:len(marks)] for stack, marks in zip(stacks, own)], own, str(result))
for marks in own:
    for depth, (name, line) in enumerate(marks):
        expect_true(re.search(rf"^= {name} {line} \S+caller_lines\.c \S+caller_lines\.c:{line}$", result.out, re.M),
                    f"{name} {line}\n{result}")
    expect_true(re.search(rf"^> {marks[1][0]} {marks[1][1]} [0-9a-f]+$", result.out, re.M), f"caller {marks[1]}\n{result}")
    expect_true(re.search(rf"^{marks[1][0]} 0x[0-9a-f]{{1,16}}$", result.out, re.M), f"caller() {marks[1]}\n{result}")
expect_true("follows" not in result.out, str(result))
addresses = re.findall(r"^> \w+ \d+ ([0-9a-f]+)$", result.out, re.M)
expect_true(len(addresses) == 2 and all(int(a, 16) < 1 << 48 for a in addresses), f"plain addresses\n{result}")
