# -b: each thread's records in a file of its own, merged later in order of time; none lost; readable when spile is killed.
from spiletest import *

directory = temporary_directory()
base = directory / "out"
script = (r'probe process.function("foo") { printf("%s %5d|%-3d|%#x\n", "ä%", tid(), $arg, $arg) } '
          r'probe end { println("end \xff") }')
spile("-b", "-o", base, "-e", script, "-c", f"{program('calls')} 300000 2").expect(status=0)
streams = sorted(directory.glob("out_*"))
expect(len(streams), 3, "streams: two threads' and the controller's")
merged = directory / "merged"
spile("--merge", "-o", merged, *streams).expect(status=0, out="", err="")
lines = merged.read_bytes().splitlines()
expect(lines[-1], b"end \xff")
following = {}
for line in lines[:-1]:
    word, rest = line.decode().split(maxsplit=1)
    expect(word, "ä%")
    thread, arg, hexadecimal = rest.split("|")
    expect(int(arg), following.get(thread, 0), f"the next record of thread {thread}")
    expect(int(hexadecimal, 16), int(arg))
    following[thread] = int(arg) + 1
expect(sorted(following.values()), [300000, 300000], "records of each thread")

# Files of version 1, whose records have neither process nor thread.
old = directory / "old"
whole = streams[1].read_bytes()
at = 48 + int.from_bytes(whole[44:48], "little")
made = whole[:8] + bytes([1]) + whole[9:at]
for _ in range(100):
    size = int.from_bytes(whole[at:at + 4], "little")
    made += (size - 8).to_bytes(4, "little") + whole[at + 4:at + 24] + whole[at + 32:at + size]
    at += size
old.write_bytes(made)
expect(spile("--merge", old).expect(status=0, err="").out.splitlines()[-1].split("|")[1].strip(), "99")

# Cut off, damaged, something else, nothing.
cut = directory / "cut"
cut.write_bytes(streams[1].read_bytes()[:-5])
spile("--merge", cut).expect(status=0, err_match="last record is truncated", out_match=r"^ä% ")
cut.write_bytes(b"SPILESTR" + bytes(20))
spile("--merge", cut).expect(status=1, out="", err_match="not written by spile -b")
spile("--merge", __file__).expect(status=1, out="", err_match="not written by spile -b")
spile("--merge", directory / "none").expect(status=1, out="", err_match="No such file")
spile("--merge").expect(status=1, err_match="needs the files")
spile("-b", "-S", "1", "-o", base, "-e", script).expect(status=1, err_match="-b and -S")

# Killed: what was written is readable.
target = server(threads=2)
session = Session("-b", "-o", directory / "killed", "-x", target.pid, "-e",
                  r'global n probe process.function("work") { printf("%d %d\n", tid(), n++) }').attached(target.pid)
wait_until(lambda: sum(f.stat().st_size for f in directory.glob("killed_*")) > 100000, 20, "records")
session.process.kill()
session.process.wait()
got = spile("--merge", *directory.glob("killed_*")).expect(status=0)  # the last record may be cut off
records = [tuple(map(int, line.split())) for line in got.out.splitlines()]
expect(len(records) > 1000, True, "enough records")
for thread in {t for t, _ in records}:
    numbers = [n for t, n in records if t == thread]
    expect(numbers, sorted(numbers), "one thread's records in order")
finish(target)
