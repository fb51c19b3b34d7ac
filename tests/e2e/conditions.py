# Conditions of probe points: what the controller changes switches sites, what the traced process changes is tested there.
from spiletest import *

# What a probe on system calls changes, in the process or by ptrace, the next call of work() knows.
script = r"""
global on, rounds, hits, returns, others
probe process.syscall { if ($syscall == 110) on = (++rounds % 3 == 0) }
probe process.function("work") if (on) { hits++ }
probe process.function("work").return if (on == 0) { returns++ }
probe process.function("main") if (rounds > 5) { others++ }
probe end { println(rounds, " ", hits, " ", returns, " ", others) }
"""
done = spile("-v", "-e", script, "-c", f"{program('toggles')} 300", "-o", "/dev/stderr").expect(
    out_match=r"^calls 3000$", err_match=r"^2 sites test the conditions of their probes at each hit, which can change there\.$")
expect_match(r"^300 1000 2000 0$", done.err)
expect_match("system calls are probed in the process", done.err)
spile("-e", script + 'probe process("/nowhere/*").syscall { exit() }', "-c",
      f"{program('toggles')} 300").expect(out_match=r"^300 1000 2000 0$")

# Where the thread stands still while a probe of the controller runs, sites are switched before it goes on.
done = spile("-v", "-e", r"""
global born, hits
probe process.thread.begin { born++ }
probe process.function("foo") if (born > 2) { hits++ }
probe end { println(born, " ", hits) }
""", "-c", f"{program('threads')} 4", "-o", "/dev/stderr").expect(
    err_match=r"^1 sites are switched on and off as the conditions of their probes change\.$")
expect_match("^4 200$", done.err)

# A condition that a handler in the process makes true is true at the very next hit.
done = spile("-v", "-e", r"""
global n, late, other, calls
probe process.function("work") { n++ }
probe process.function("work").return if (n > 25) { late++ }
probe process.function("work") if (n % 2) { other++ }
probe end { println(n, " ", late, " ", other) }
""", "-c", f"{program('toggles')} 10", "-o", "/dev/stderr").expect(
    err_match=r"^1 sites test the conditions of their probes at each hit, which can change there\.$")
expect_match(r"^100 75 50$", done.err)

# One that never holds is never armed on; begin probes decide, too.
spile("-e", "global on, c probe begin { on = 1 } probe process.function(\"work\") if (on) { c++ } probe end { println(c) }",
      "-c", f"{program('toggles')} 10").expect(out_match=r"^100$")
spile("-e", "global on = 1, c probe begin { on = 0 } probe process.function(\"work\") if (on) { c++ } probe end { println(c) }",
      "-c", f"{program('toggles')} 10").expect(out_match=r"^0$")

# A probe without a condition at the same place is hit anyway.
spile("-e", "global on, c, d probe process.function(\"work\") if (on) { c++ } probe process.function(\"work\") { d++ } "
      "probe end { println(c, \" \", d) }", "-c", f"{program('toggles')} 10").expect(out_match=r"^0 100$")

# What a condition may not do is refused as before.
spile("-p2", "-e", "global on probe process.function(\"work\") if (on++) { }", "-c", program("toggles")).expect(
    status=1, err_match="a probe's condition can't change anything")
