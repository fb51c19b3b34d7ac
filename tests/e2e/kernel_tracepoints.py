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

# A structure of 200 members, of which the first that fit are printed.
kernel(r"""probe kernel.trace("sched:sched_switch") { if (pid() == target()) { s = $$parms$; printf("%d %d\n", strlen(s), """
       r"""s =~ "prev=.*pid|prev=.*__state="); exit() } }""",
       "sleep 0.1").expect(err="511 1\n")

kernel(r"""global ticks
probe timer.profile { if (pid() == target()) ticks[execname()] <<< cpu() }
probe end { foreach (n in ticks) printf("%s %d\n", n, @count(ticks[n]) > 5) }""",
       f"{program('calls')} 400000000").expect(err="calls 1\n")

# With -c the profile has the command's processes alone, each from its beginning.
burner = "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); done"
other = start("sh", "-c", "while :; do :; done")
kernel(rf"""global ticks, others
probe timer.profile.freq.hz(1000) {{ if (execname() == "sh" && pid() != {other.pid}) ticks[pid()]++; else others++ }}
probe kernel.trace("sched:sched_process_exit") {{ if (pid() < 0) others++ }}
probe end {{ foreach (p in ticks) m++; printf("%d %d\n", m >= 20, others) }}""",
       f"i=0; while [ $i -lt 100 ]; do sh -c '{burner}'; i=$((i+1)); done").expect(err="1 0\n")
