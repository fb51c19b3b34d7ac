# Tracepoints and the profile, of the command alone: the handlers see every process and ask for target().
# In a PID namespace of its own, as in a container, pid() and target() are that one's numbers.
# variants: plain own_pids
from spiletest import *

if VARIANT == "own_pids" and os.environ.get("SPILE_TEST_OWN_PIDS") != "1":
    os.environ["SPILE_TEST_OWN_PIDS"] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv])


def kernel(script, command):
    result = spile("-o", "/dev/stderr", "-e", script, "-c", command)
    if "Operation not permitted" in result.err:
        skip(result.err.strip())
    return result.expect()


program("calls")
kernel(r"""global away, to
probe kernel.trace("sched:sched_switch") { if (pid() == target()) { away++; to[$next_comm]++ } }
probe end { sum = 0; foreach (n in to) sum += to[n]; printf("%d %d\n", away >= 20, sum == away) }""",
       f"{sys.executable} -c 'import time; [time.sleep(0.002) for i in range(20)]'").expect(err="1 1\n")

kernel(r"""global ticks
probe timer.profile { if (pid() == target()) ticks[execname()] <<< cpu() }
probe end { foreach (n in ticks) printf("%s %d\n", n, @count(ticks[n]) > 5) }""",
       f"{program('calls')} 400000000").expect(err="calls 1\n")
