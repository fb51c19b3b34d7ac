# A million records from two threads, as fast as they come: each arrives, whole, each thread's in order.
from spiletest import *

out = temporary_directory() / "out"
result = spile("-e", r'probe process.function("foo") { printf("%d %d\n", tid(), $arg) }',
               "-c", f"{program('calls')} 200000 2", "-o", out, "-s", "32").expect(status=0)
following = {}
for line in out.read_text().splitlines():
    thread, arg = line.split()
    expect(int(arg), following.get(thread, 0), f"the next record of thread {thread}")
    following[thread] = int(arg) + 1
expect(sorted(following.values()), [200000, 200000], "records of each thread")
