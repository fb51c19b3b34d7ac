# Handlers in processes, by jumps, and in the kernel, in one script: globals of both, exact; records in the order of time.
# variants: counts latency own_elements one_step locked order read_only controller exits errors several children killed stacks profile
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")

steps = program("steps")
CALL = 'kernel.trace("syscalls:sys_enter_getppid")'
OURS = "if (pid() != target()) next"


def skipped(text):
    return sum(int(number) for number in re.findall(r"WARNING: (\d+) skipped", text))


lost = 0  # hits that were skipped for a lock in the last run of mixed(): a thread may be stopped while it holds one


def mixed(script, *arguments, command=None, status=0):
    global lost
    result = spile("-v", "-DMAXSKIPPED=0", "-o", "/dev/stderr", "-e", script, "-c", command or f"{steps} 1000 2", *arguments)
    if "uprobe" in result.err:
        skip("this kernel has no BPF arenas")
    expect_match("step .*: jump", result.err, "how the process is probed") if status == 0 else None
    expect(result.status, status, "status of " + result.err)
    lost = skipped(result.err)
    expect_true(lost < 200, f"{lost} hits were skipped")
    return "".join(line + "\n" for line in result.err.splitlines() if line.startswith("= "))


if VARIANT == "counts":
    out = mixed(f"""global n, m, both, s
probe process.function("step") {{ n++; both["process", tid()]++; s <<< 1 }}
probe {CALL} {{ {OURS}; m++; both["kernel", tid()]++; s <<< 3 }}
probe end {{ printf("= %d %d\\n", n, m); foreach ([side+, t] in both) printf("= %s %d\\n", side, both[side, t]); printf("= %d %d\\n", @count(s), @sum(s)) }}""")
    expect(out, "= 2000 2000\n= kernel 1000\n= kernel 1000\n= process 1000\n= process 1000\n= 4000 8000\n")

if VARIANT == "latency":
    # Begun in the process, ended in the kernel: one array, one clock.
    out = mixed(f"""global start, lat, odd
probe process.function("step") {{ start[tid()] = gettimeofday_ns() }}
probe {CALL} {{ {OURS}; if (!(tid() in start)) odd++; else {{ lat <<< gettimeofday_ns() - start[tid()]; delete start[tid()] }} }}
probe end {{ foreach (t in start) odd++; printf("= %d %d %d %d\\n", @count(lat), odd, @min(lat) > 0, @avg(lat) < 1000000) }}""")
    count, odd, positive, short = (int(n) for n in out.split()[1:])
    expect_true(2000 - lost <= count <= 2000 and odd <= lost and positive and short, f"{out}, {lost} skipped")

# More threads than processors: some are stopped in the midst of their handlers all the time, and nobody waits for them.
if VARIANT == "own_elements":
    out = mixed(f"""global start, lat, odd
probe process.function("step") {{ start[tid()] = gettimeofday_ns() }}
probe {CALL} {{ {OURS}; if (!(tid() in start)) odd++; else {{ lat <<< gettimeofday_ns() - start[tid()]; delete start[tid()] }} }}
probe end {{ printf("= %d %d\\n", @count(lat), odd) }}""", command=f"{steps} 50000 6")
    expect(out, "= 300000 0\n", "times")
    expect(lost, 0, "skipped hits")

if VARIANT == "one_step":
    out = mixed(f"""global n, even
probe process.function("step") {{ if (n++ & 1) even++ }}
probe {CALL} {{ {OURS}; if (++n == 600000) exit() }}
probe end {{ printf("= %d\\n", n) }}""", command=f"{steps} 50000 6")
    expect(out, "= 600000\n", "additions")
    expect(lost, 0, "skipped hits")

if VARIANT == "locked":
    # A number, a string and an array that both sides change, from two threads at once.
    result = spile("-DMAXSKIPPED=0", "-o", "/dev/stderr", "-e", f"""global n, last, a
probe process.function("step") {{ n = n + 1; last = sprintf("process %d", n); a[$number & 7, "p"] = n }}
probe {CALL} {{ {OURS}; n = n + 1; last = "kernel " . sprint(n); a[n & 7, "k"] = n }}
probe end {{ keys = 0; foreach ([k, side] in a) keys++; printf("= %d %s %d\\n", n, last, keys) }}""", "-c", f"{steps} 20000 2")
    if "uprobe" in result.err:
        skip("this kernel has no BPF arenas")
    count, side, number, keys = re.search(r"= (\d+) (\w+) (\d+) (\d+)", result.err).groups()
    expect(int(count) + skipped(result.err), 80000, "additions and skipped hits: " + result.err)
    expect(number, count, "the last string was made by the last addition")
    expect_true(8 < int(keys) <= 16, f"{keys} elements are of both sides")  # the kernel's may all have even numbers
    expect_true(skipped(result.err) < 800, f"{skipped(result.err)} of 80000 hits were skipped")

if VARIANT == "order":
    out = mixed(f"""probe process.function("step") {{ printf("= step %d\\n", $number) }}
probe {CALL} {{ {OURS}; printf("= call\\n") }}""", command=f"{steps} 300")
    expect(out, "".join(f"= step {i}\n= call\n" for i in range(300)))
    # Rings that are read while they are written.
    out = mixed(f"""probe process.function("step") {{ printf("= %d step\\n", tid()) }}
probe {CALL} {{ {OURS}; printf("= %d call\\n", tid()) }}""", command=f"{steps} 100000 2")
    last, turns = {}, 0
    for line in out.splitlines():
        thread, what = line.split()[1:]
        turns += what != last.get(thread, "call")
        last[thread] = what
    expect((turns, out.count("\n")), (400000, 400000), "records of each thread by turns")

if VARIANT == "read_only":
    out = mixed(f"""global every, names, n, m
probe begin {{ every = 3; names["a"] = "x"; names["b"] = "y" }}
probe process.function("step") {{ if ($number % every == 0 && names["a"] == "x") n++ }}
probe {CALL} {{ {OURS}; if (every == 3 && names["b"] == "y") m++ }}
probe end {{ printf("= %d %d\\n", n, m) }}""", command=f"{steps} 999")
    expect(out, "= 333 999\n")

if VARIANT == "controller":
    # spile's own handlers read and clear what both sides write.
    out = mixed(f"""global n, a, sum, elements
probe process.function("step") {{ n = n + 1; a[$number & 15]++ }}
probe {CALL} {{ {OURS}; n = n + 1; a[100 + (n & 3)]++ }}
probe timer.ms(1) {{ sum += n; n = 0; foreach (k in a) elements += a[k]; delete a }}
probe end {{ sum += n; foreach (k in a) elements += a[k]; printf("= %d %d\\n", sum, elements) }}""", command=f"{steps} 20000")
    added, elements = (int(n) for n in out.split()[1:])
    expect(added + lost, 40000, f"additions and skipped hits: {out}")
    expect(elements, added, "elements")

if VARIANT == "exits":
    for where in ("process", "kernel"):
        n, m = ("n++; if (n == 5) exit()", "m = m + 1") if where == "process" else ("n = n + 1", "if (++m == 5) exit()")
        out = mixed(f"""global n, m
probe process.function("step") {{ {n} }}
probe {CALL} {{ {OURS}; {m} }}
probe end {{ printf("= %d\\n", {"n" if where == "process" else "m"}) }}""", command=f"{steps} 200000")
        expect(out, "= 5\n", f"exit() in the {where}")

if VARIANT == "errors":
    result = spile("-o", "/dev/stderr", "-e", f"""global n probe process.function("step") {{ n = n + 1 }}
probe {CALL} {{ {OURS}; n = n + 1; if (n > 10) error("enough") }} probe error {{ println("ended") }}""", "-c", f"{steps} 1000")
    expect(result.status, 1)
    expect_match("ERROR: enough", result.err, "the error of the handler in the kernel")
    expect(result.err.count("enough"), 1, "errors")

if VARIANT == "several":
    import subprocess
    first, second = (subprocess.Popen([steps, "100000000"], stdout=subprocess.DEVNULL) for _ in range(2))
    try:
        result = spile("-DMAXSKIPPED=0", "-o", "/dev/stderr", "-e", f"""global n, m
probe process("{steps}").function("step") {{ n[pid()] = n[pid()] + 1 }}
probe {CALL} {{ if (pid() in n) m[pid()] = m[pid()] + 1 }}
probe timer.ms(300) {{ exit() }}
probe end {{ foreach (p+ in n) printf("= %d %d %d\\n", p, n[p] > 0, m[p] > 0) }}""", "-x", str(first.pid), "-x", str(second.pid)).expect()
        if "uprobe" in result.err:
            skip("this kernel has no BPF arenas")
        lines = [line for line in result.err.splitlines() if line.startswith("= ")]
        expect(lines, [f"= {pid} 1 1" for pid in sorted((first.pid, second.pid))])
    finally:
        for each in (first, second):
            each.kill()
            each.wait()

if VARIANT == "children":
    # A child has the globals of both, too.
    out = mixed(f"""global n, m probe process("{steps}").function("step") {{ n[pid()] = n[pid()] + 1 }}
probe {CALL} {{ if (pid() in n) m[pid()] = m[pid()] + 1 }}
probe end {{ foreach (p in n) printf("= %d %d\\n", n[p], m[p]) }}""", command=f"/bin/sh -c '{steps} 500; {steps} 500; true'")
    counts = [int(n) for n in re.findall(r"\d+", out)]
    expect(len(counts), 4, "numbers of two children")
    expect_true(all(500 - lost <= n <= 500 for n in counts) and sum(counts) + lost >= 2000, f"{counts}, {lost} skipped")

if VARIANT == "killed":
    import signal, subprocess, time
    target = subprocess.Popen([steps, "2000000000"], stdout=subprocess.DEVNULL)
    script = f"""global n, a probe process.function("step") {{ n = n + 1; a[$number & 255] = n }}
probe {CALL} {{ if (pid() == target()) {{ n = n + 1; a[1000 + (n & 255)] = n }} }} probe timer.s(20) {{ exit() }}"""
    try:
        for attempt in range(5):
            tracer = subprocess.Popen([SPILE, "-e", script, "-x", str(target.pid)], stderr=subprocess.DEVNULL)
            time.sleep(0.4 + 0.1 * attempt)
            tracer.send_signal(signal.SIGKILL)
            tracer.wait()
            expect(target.poll(), None, "status of the traced process after spile was killed")
        after = spile("-o", "/dev/stderr", "-e", f'global n probe process.function("step") {{ n++ }} probe timer.ms(100) {{ exit() }} probe end {{ println(n > 0) }}',
                      "-x", str(target.pid)).expect()
        expect(after.err, "1\n", "a later session")
        maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
        left = [line for line in maps.splitlines() if re.search(r"memfd:spile|bpf-map", line)]
        expect(left, [], "what is left of spile in the process")
    finally:
        target.kill()
        target.wait()

if VARIANT == "stacks":
    # Stacks of the process in handlers of both sides: printed, and as keys, which both name alike. The handler of the return has
    # put an address of its own on the stack, in place of that which leads back to main().
    out = spile("-o", "/dev/stdout", "-e", f"""global n, m, stacks, returns
probe process.function("step").return {{ returns++ }}
probe process.function("step") {{ if (n == 0) {{ println("process"); print_ubacktrace() }} n++; stacks["process", ubacktrace()]++ }}
probe {CALL} {{ {OURS}; if (m == 0) {{ println("kernel"); print_ubacktrace() }} m++; stacks["kernel", ubacktrace()]++ }}
probe end {{ foreach ([side-, stack] in stacks) {{ printf("%s %d\\n", side, stacks[side, stack]); print_usyms(stack) }} }}""", "-c", f"{steps} 500").expect()
    if "uprobe" in out.err:
        skip("this kernel has no BPF arenas")
    names = [re.findall(r" : (\w+)\+", part) for part in re.split(r"^(?:process|kernel)(?: \d+)?$", out.out, flags=re.M)[1:]]
    expect(len(names), 4, f"stacks\n{out}")
    for k, kernel in enumerate((False, True, False, True)):
        below = names[k][names[k].index("step"):]
        expect(below[:2], ["step", "main"], f"the names of stack {k}\n{out}")
        expect_true(below[-1] == "_start" and (names[k][0] == "syscall") == kernel, f"stack {k}\n{out}")
    expect(re.findall(r"^(process|kernel) (\d+)$", out.out, re.M), [("process", "500"), ("kernel", "500")], str(out))
    expect_true("cut off" not in out.err, str(out))
    # In functions that call one another, several frames deeper.
    out = spile("-o", "/dev/stdout", "-e", f"""global n function outer() {{ if (n < 3) return inner(); return 0 }}
function inner() {{ if (n > 1) try {{ print_ubacktrace() }} catch {{ }} return n }} probe process.function("step") {{ n = n + 1 }}
probe {CALL} {{ {OURS}; outer() }}""", "-c", f"{steps} 5").expect()
    expect_match(r" : step\+.*\n.* : main\+", out.out, "a stack that a function has printed")

if VARIANT == "profile":
    # Beside a probe in the kernel the profile samples time in the kernel, too, which most of this program's is.
    out = spile("-v", "-o", "/dev/stdout", "-e", f"""global n, m, user probe process.function("step") {{ n++ }}
probe kernel.trace("sched:sched_process_exit") {{ m++ }}
probe timer.profile.freq.hz(1000) {{ if (user_mode()) user["user"]++; else user["kernel"]++ }}
probe end {{ printf("%d %d\\n", user["user"], user["kernel"]) }}""", "-c", f"{steps} 5000000").expect()
    if "uprobe" in out.err:
        skip("this kernel has no BPF arenas")
    expect_match("timer.profile.*: cpu-clock every", out.err, "where samples are taken")
    user, kernel = map(int, re.search(r"^(\d+) (\d+)$", out.out, re.M).groups())
    expect_true(user + kernel > 100 and kernel > user / 2, str(out))
