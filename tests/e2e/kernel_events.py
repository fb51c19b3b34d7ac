# Events of handlers in the kernel have the process and the thread that they are of, as those of handlers in processes have; so
# have those of a bundle, which is made before anybody knows who reads them.
import json
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")

threads = """import os, threading
def ask():
    for i in range(10): os.getppid()
for turn in range(3):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
ask()
"""
SCRIPT = ('probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) printf("%d %d\\n", pid(), tid()) } '
          'probe end { println("end") }')
PYTHON = f"python3 -c '{threads}'"
MAPS = ('probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) { printf("%d %d\\n", pid(), tid()); '
        'if (n++ == 39) exit() } } global n probe end { println("end") }')


def check(out, limit=40):
    events = [json.loads(line) for line in out.splitlines()]
    calls = [event for event in events if event["text"] != "end"]
    expect([[event["pid"], event["tid"]] for event in calls], [event["values"] for event in calls])
    expect(len(calls), limit)
    expect(len({event["tid"] for event in calls}), 4)
    expect([set(event) & {"pid", "tid"} for event in events if event["text"] == "end"], [set()])


check(spile("--json", "-e", SCRIPT, "-c", PYTHON).expect(status=0, err="").out)
check(spile("--json", "--runtime=bpf", "-e", MAPS, "-c", PYTHON).expect(status=0, err="").out)

bundle = temporary_directory() / "a.spile"
spile("-p4", "-o", bundle, "-e", SCRIPT, "-c", PYTHON).expect(status=0, err="")
check(spile("--json", bundle, "-c", PYTHON).expect(status=0, err="").out)
expect(len(spile(bundle, "-c", PYTHON).expect(status=0, err="").out.splitlines()), 41)
