# variants: begin end namespace
# In process.begin and process.end, what the library says of "the process" is of the one that begins or ends, not of spile.
from spiletest import *

if VARIANT == "begin":
    result = spile("-e", r"""probe process.begin { if (execname() != "server") next
printf("%s|%s|%s|%s|%s\n", cmdline_str(), cmdline_arg(1), env_var("MARK"), env_var("NONE"), pexecname())
printf("%d %d %d\n", pgrp() == pid(), sid() == pid(), ns_pid() == pid() && ns_tid() == tid() && ns_uid() == uid())
printf("%d %d %d\n", proc_mem_size() * mem_page_size() / 1024, proc_mem_rss() > 0 && proc_mem_rss() <= proc_mem_size(),
  proc_mem_txt() < 100)
printf("%d %d\n", task_utime() + task_stime() < 100, task_start_time() > 1000000000) printf("cpu %d\n", cpu() >= 0) }""",
                   "-c", f"setsid sh -c 'MARK=\"a b\" exec {program('server')} 1'", "--runtime=inproc")
    lines = result.expect(status=0).out.splitlines()
    lines = [line for line in lines if not line.startswith(("ready", "calls"))]
    expect_match(rf"^{program('server')} 1\|1\|a b\|\|\w+$", lines[0])
    expect(lines[1], "1 1 1")
    size, small, text = map(int, lines[2].split())
    expect_true(100 < size < 40000 and small and text, f"memory of a small program, in KiB: {lines[2]}")
    expect(lines[3:], ["1 1", "cpu 1"])
elif VARIANT == "end":
    # It has no memory any more; what it was is known or an error, and never spile's own.
    calls = ("cmdline_str()", 'env_var("PATH")', "cmdline_arg(0)", "sprint(proc_mem_size())", "sprint(ns_pgrp())",
             "sprint(task_utime())")
    tries = " ".join("try { println(%s) } catch (text) { println(text) }" % call for call in calls)
    out = spile("-e", "probe process.end { println(execname() . sprint(ns_pid() == pid())) %s }" % tries, "-c",
                f"{program('server')} 1").expect(status=0).out
    lines = [line for line in out.splitlines() if not line.startswith(("ready", "calls"))]
    expect(lines[0], "server1")
    expect([bool(re.search("the process has ended", line)) for line in lines[1:]], [True] * len(calls), out)
else:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True).returncode:
        skip("needs root, and leave to make a process namespace")
    result = spile("-e", """probe process.begin { if (execname() == "server") printf("begin %d %d %d %d\\n", ns_pid(), ns_tid(),
      ns_ppid(), pid() > 1) }
global told probe process.function("work") { if (!told++) printf("work %d %d %d\\n", ns_pid(), ns_ppid(), pid() > 1) }
probe begin { printf("own %d\\n", ns_pid() == pid()) }""".replace('process.function', f'process("{program("server")}").function'),
                   "-c", f"unshare -p -f {program('server')} 1")
    for line in ("own 1", "begin 1 1 0 1", "work 1 0 1"):
        expect_match(f"^{line}$", result.expect(status=0).out)
