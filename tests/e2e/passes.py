# -p1 to -p4 stop after that pass; -l lists what a probe point stands for; -v prints the mechanism of each probe.
from spiletest import *

command = f"{program('calls')} 10"
spile("-p1", "-e", "probe begin { x = 1 + 2 }").expect(status=0, out_match=r"x = .*1.*\+.*2")
spile("-p2", "-e", 'probe process.function("fo?") { println($arg) }', "-c", command).expect(status=0, out_match=r"foo")
spile("-p4", "-e", 'probe process.function("foo") { }', "-c", command).expect(
    status=0, out_match=r"\Acontroller \d+ bytes\nprocesses [1-9]\d+ bytes\nkernel 0 bytes\n\Z")
listing = spile("-l", f'process("{program("calls")}").function("f*")').expect(status=0, out_match=r'function\("foo')
expect_match(r'function\("fibonacci', listing.out)
spile("-l", f'process("{program("calls")}").function("nothing*")').expect(status=1)
result = spile("-v", "-e", 'probe process.function("foo") { }', "-c", command).expect(status=0)
expect_match(r"foo.*jump", result.err)

# A listing needs no process, whatever its probes would need.
if pathlib.Path("/usr/bin/python3.11").exists():
    listing = spile("-l", 'process("/usr/bin/python3.1*").mark("*")').expect(status=0, out_match=r'mark\("function__entry"\)')
