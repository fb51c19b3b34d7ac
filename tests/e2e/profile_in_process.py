# timer.profile in processes: samples of the thread's own processor time, with the stack, and without disturbing it.
# long
from spiletest import *

result = spile("--runtime=inproc", "-e", r"""global n, hot, stacks
probe timer.profile { n++; hot[usymname(uaddr())]++; stacks[usymname(ustack(1))]++; if (execname() != "watched") error("who?") }
probe end { printf("samples %d hot %d under caller %d\n", n, hot["hot"], stacks["caller"]) }""",
               "-c", f"{program('watched')} 1 2000000000")
got = re.search(r"samples (\d+) hot (\d+) under caller (\d+)", result.out)
expect_true(got is not None, str(result))
samples, hot, under = map(int, got.groups())
expect_true(samples >= 10 and hot >= 0.9 * samples and under >= 0.9 * samples, str(result))
spile("--runtime=inproc", "-e", "probe timer.profile { exit() }").expect(status=1, err_match="use -c COMMAND or -x PID")

# A known split of processor time, in several threads: samples are of each thread's own time, whatever else runs here.
result = spile("--runtime=inproc", "-e", r"""global n, under, threads
probe timer.profile { n++; under[usymname(ustack(1))]++; threads[tid()]++ }
probe end { printf("n %d seventy %d twenty %d ten %d threads", n, under["seventy"], under["twenty"], under["ten"])
            foreach (t in threads) printf(" %d", threads[t])  println("") }""", "-c", f"{program('profiled')} 600")
got = re.search(r"n (\d+) seventy (\d+) twenty (\d+) ten (\d+) threads((?: \d+)+)", result.out)
expect_true(got is not None, str(result))
n, *shares = map(int, got.groups()[:4])
expect_true(90 <= n <= 220, f"1.8 s of processor time are 180 samples: {result}")
# 5 standard deviations of 180 samples are 17, 15 and 11 of a hundred.
for share, wanted, near in zip(shares, [70, 20, 10], [18, 16, 12]):
    expect_true(abs(100 * share / n - wanted) <= near, f"{wanted} %: {result}")
each = sorted(map(int, got[5].split()))
expect_true(len(each) >= 3 and each[-3] >= n / 5, f"three threads, a third each: {result}")

# A handler runs later than its sample, but has its time: samples of a thread are 10 ms of its processor time apart.
result = spile("--runtime=inproc", "-e", r"""global last, latest, near, back, n
probe timer.profile { now = gettimeofday_ns(); n++; near += last[tid()] && now - last[tid()] < 9000000;
  back += now < latest - 10000000; last[tid()] = now; latest = now }
probe end { printf("n %d near %d back %d ahead %d\n", n, near, back, latest > gettimeofday_ns()) }""", "-c",
               f"{program('profiled')} 600")
got = re.search(r"n (\d+) near (\d+) back 0 ahead 0", result.out)
expect_true(got is not None and int(got[1]) >= 90 and int(got[2]) <= int(got[1]) / 20, str(result))

# Processes that end before the 10 ms are over have their share, as if all were one.
burner = "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); done"
result = spile("-e", "global n, pids probe timer.profile { n++; pids[pid()]++ } "
                     "probe end { foreach (p in pids) m++ println(n, \" \", m) }",
               "-c", f"i=0; while [ $i -lt 300 ]; do sh -c '{burner}'; i=$((i+1)); done", timeout=60)
before = os.times()
for _ in range(300):
    subprocess.run(["sh", "-c", command_line(burner)], check=True)
share = (os.times().children_user - before.children_user) / 0.01
n, pids = map(int, result.out.split())
expect_true(share / 3 <= n <= 3 * share and pids >= n / 3, f"{share} periods: {result}")
idle = spile("-e", "probe timer.profile { println(1) }", "-c", "true")
expect_match(r"^1$" if idle.out else r"took no sample: 1 thread used \d+\.\d ms of processor time in all, and samples "
                                     r"are 10 ms apart", idle.out or idle.err)

# With -x, and without --runtime: the process's own stacks.
target = start(program("watched"), 1, 2000000000)
spile("-e", 'global hot probe timer.profile { hot[usymname(uaddr())]++; if (hot["hot"] > 2) { print_ubacktrace() exit() } }',
      "-x", target.pid,
      timeout=20).expect(status=0, out_match=r"^ 0x[0-9a-f]+ : hot\+.*\n 0x[0-9a-f]+ : caller\+")

# So many samples a second of processor time.
result = spile("-e", "global n, stacks probe timer.profile.freq.hz(500) { n++; stacks[ubacktrace()]++ } "
                     "probe end { foreach (s in stacks) sum += stacks[s]; printf(\"n %d %d\\n\", n, sum == n) }",
               "-c", f"exec {program('profiled')} 200", timeout=60)
got = re.search(r"n (\d+) 1\n", result.out)
expect_true(got is not None, str(result))
n = int(got[1])
expect_true(150 <= n <= 450, f"0.6 s of processor time are 300 samples: {result}")

# What the kernel alone has, its tasks and its stack, is asked in the kernel.
if os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux"):
    spile("-e", """global n, own, stacks
        probe timer.profile { n++; if (@cast(task_current(), "kernel<struct task_struct>")->pid == tid()) own++ }
        probe timer.profile { if (backtrace() != "") stacks++ }
        probe end { printf("%d %d %d\\n", n > 5, n == own, stacks > 5) }""",
          "-c", "exec dd if=/dev/zero of=/dev/null bs=1M count=20000 status=none",
          timeout=60).expect(status=0, out_match="^1 1 1$")
