# variants: count return locked
# Threads that are cancelled at any instruction, mostly within handlers: what a handler held is free again, and those that
# come after are seen.
from spiletest import *

POINT = 'process.function("work")'
SCRIPTS = {
    "count": f"global n probe {POINT} {{ n[tid()]++ }}",
    "return": f"global n probe {POINT}.return {{ n[tid()]++ }}",
    "locked": f"""global last, seen, n
probe {POINT} {{ for (i = 0; i < 50; i++) seen[i] = last; last = seen[0] + 1; n[tid()] = n[tid()] + 1 }}""",
}
END = (r""" probe end { m = 0; foreach (t in n) { m++; if (t == target()) printf("main %d\n", n[t]) } """
       r"""printf("threads %d\n", m) }""")
result = spile("-DMAXSKIPPED=0", "-e", SCRIPTS[VARIANT] + END, "-c", f"{program('cancels')} 60")
expect_match("^cancelled 60 wrong 0$", result.out)
expect(result.status, 0, f"status\n{result}")
own, threads = (int(re.search(rf"^{what} (\d+)$", result.out, re.M)[1]) for what in ("main", "threads"))
# A lock is free when spile has learnt of its holder's end: that may take a while on a busy machine, and the hits skipped
# meanwhile are reported.
skipped = sum(map(int, re.findall(r"(\d+) skipped probes, a global's lock", result.err)))
expect_true(own + skipped >= 1000 and own > 500, f"{own} of the main thread's 1000 calls were seen\n{result}")
expect_true(threads > 50, f"{threads} of 61 threads were seen\n{result}")
