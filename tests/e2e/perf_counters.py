# @perf: what the kernel counts for the thread that is probed, read in its handlers.
# variants: process threads
from spiletest import *

if VARIANT == "process":
    result = spile("-e", r"""
    probe perf.sw.task_clock.process("PROGRAM").counter("time") { println("never") }
    probe perf.type(1).config(2).process.counter("faults") {}
    probe perf.sw.page_faults_maj.counter("major") {}
    probe perf.sw.page_faults_min.counter("minor") {}
    probe perf.sw.context_switches.counter("switches") {}
    global times, earlier
    probe process.function("foo") {
      now = @perf("time")
      if (now < earlier) println("time goes back")
      earlier = now
      times++
    }
    probe process.function("fibonacci").return { spent = @perf("time") - @entry(@perf("time")); if (spent < 0) println("less") }
    probe process.function("greet") {
      println(@perf("faults") >= @perf("minor"), @perf("faults") > 0, @perf("major") >= 0, @perf("switches") >= 0)
      println(@perf("time") < 60000000000, times)
    }""".replace("PROGRAM", str(program("calls"))), "-c", f"{program('calls')} 100", "-o", "/dev/stderr")
    result.expect(err="1111\n1100\n")
else:
    # Each thread has its own: none has more time than the process, and together they have about that.
    result = spile("-e", r"""
    probe perf.sw.cpu_clock.counter("mine") {}
    global spent
    probe process.function("foo") { spent[tid()] = @perf("mine") }
    probe end { foreach (t in spent) { n++; if (spent[t] > 0) used++ } println(n, " ", used) }""",
                   "-c", f"{program('calls')} 1000 3", "-o", "/dev/stderr")
    expect_match(r"^(\d+) \1$", result.err, "threads, and those that used time")
