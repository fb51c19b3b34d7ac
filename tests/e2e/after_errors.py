# After a script error nothing is lost: what was printed comes out, what was collected and never read is shown, `probe error`
# runs, and an error that came often is printed once with its number.
from spiletest import *

script = """global kept, n
probe process.function("foo") { kept <<< $arg; n++; if (n == 50) println("printed"); if (n >= 100) println(1 / (n - n)) }
probe end { println("never") }"""
result = spile("-e", script, "-c", f"{program('calls')} 1000").expect(status=1, err_match="^ERROR: division by 0")
expect_match("^printed$", result.out, "what was printed before the error")
expect_match("^kept @count=", result.out, "what was collected")
expect_match("WARNING: the end probes were not run", result.err, "what became of the end probe")
expect_true(result.err.count("division by 0") <= 2, f"equal errors are told once\n{result.err}")
spile("-e", script + " probe error { println(n) }", "-c", f"{program('calls')} 1000").expect(status=1, out_match=r"^\d{3,4}$")

many = spile("-D", "MAXERRORS=1000", "-e", 'probe process.function("foo") { println(1 / ($arg - $arg)) } probe end { println("end") }',
             "-c", f"{program('calls')} 300").expect(status=0, out_match="^end$")
expect(many.err.count("division by 0"), 2, f"lines about the error in\n{many.err}")
expect_match(r"^WARNING: 300 times: ERROR: division by 0", many.err, "how often it came")
