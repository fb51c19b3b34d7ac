# A static program without PIE: nothing of ours lies within 1 GiB behind where its heap begins, though jumps that take their
# targets from the program's bytes have no other places than above it.
from spiletest import *

for attempt in range(8):  # the kernel chooses where the heap begins
    target = start(program("low_static"), ready="ready", stdin=subprocess.PIPE)
    session = Session("-v", "-e", 'global n probe process.function("work"), process.function("tiny_*") { n++ } '
                      "probe end { println(n > 0) }", "-x", target.pid).attached(target.pid)
    heap = int(pathlib.Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()[44])
    maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines()
    ours = [int(line.split("-")[0], 16) for line in maps if "memfd:spile" in line]
    expect_true(ours, "mappings of ours")
    near = [f"{at:#x}" for at in ours if heap - 65536 <= at < heap + (1 << 30)]
    expect(near, [], f"mappings behind the heap's begin, {heap:#x}")
    target.stdin.write(b"\n")
    target.stdin.flush()
    expect(target.stdout.readline(), b"failed 0\n", "the heap grows by 100 MiB")
    session.stop().expect(out="1\n", status=0)
    expect_untouched(target.pid)
    finish(target)
