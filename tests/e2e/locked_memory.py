# Programs that lock all their memory: what spile maps is not filled for their sake.
# variants: attached launched
from spiletest import *

def kib(pid, field):
    return int(re.search(rf"^{field}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M).group(1))

SCRIPT = ('global c probe process.function("work") { c++ } probe process.function("work").return { c++ } '
          'probe end { println(c > 0) }')
if VARIANT == "attached":
    target = start(program("locked_memory"), "first", 60, ready="ready")
    locked, resident = kib(target.pid, "VmLck"), kib(target.pid, "VmRSS")
    expect_true(locked > 0, "the program has locked its memory (RLIMIT_MEMLOCK?)")
    session = Session("-e", SCRIPT, "-x", target.pid).attached(target.pid)
    wait_turns(target.pid, 50)
    # The most that was ever resident: also what was filled and given back.
    more_locked, more_resident = kib(target.pid, "VmLck") - locked, kib(target.pid, "VmHWM") - resident
    print(f"locked {more_locked} KiB more, resident {more_resident} KiB more")
    expect_true(more_locked < 4096 and more_resident < 16384, f"locked {more_locked} KiB more, resident {more_resident} KiB more")
    session.stop().expect(out="1\n", status=0)
    expect_untouched(target.pid)
    expect_match(r"^calls \d+$", finish(target))
else:
    session = Session("-e", SCRIPT + ' probe begin { printf("begun\\n") }', "-c", f"{program('locked_memory')} later 4")
    session.wait_output("ready")
    pid = int(subprocess.run(["pgrep", "-P", str(session.process.pid), "locked_memory"], capture_output=True).stdout)
    wait_until(lambda: kib(pid, "VmLck") > 0, 20, "the program to lock its memory")
    print(f"locked {kib(pid, 'VmLck')} KiB")
    expect_true(kib(pid, "VmLck") < 65536, f"it has locked {kib(pid, 'VmLck')} KiB")
    session.wait().expect(status=0)
