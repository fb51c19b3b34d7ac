# Processes that know themselves by other numbers than spile does (a process namespace): each has its threads' memory to
# itself, and gives it back when it ends, so that more of them can come and go than there are slots.
from spiletest import *

if os.geteuid() != 0:
    skip("making a process namespace takes root")
if subprocess.run([installed("unshare"), "--fork", "--pid", "true"], capture_output=True).returncode:
    skip("no process namespace can be made here")
SCRIPT = r"""global r, n probe process("%s").function("foo").return { r++; if (@entry(pid()) == pid()) n++ }
probe end { printf("returns %%d %%d\n", r, n) }"""
result = spile("-e", SCRIPT % program("forks"), "-c", f"{installed('unshare')} --fork --pid {program('forks')} fork 1200")
expect(result.err, "", "what spile warns of")
expect_match("^good 1200 sum 145$", result.out)
expect_match("^returns 12010 12010$", result.out)
