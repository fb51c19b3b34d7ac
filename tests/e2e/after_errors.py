# After a script error nothing is lost: what was printed comes out, what was collected and never read is shown, `probe error`, or
# else `probe end`, runs, and an error that came often is printed once with its number.
from spiletest import *

script = """global kept, n
probe process.function("foo") { kept <<< $arg; n++; if (n == 50) println("printed"); if (n >= 100) println(1 / (n - n)) }
probe end { println("ended with ", n) }"""
result = spile("-e", script, "-c", f"{program('calls')} 1000").expect(status=1, err_match="^ERROR: division by 0")
expect_match("^printed$", result.out, "what was printed before the error")
expect_match("^kept @count=", result.out, "what was collected")
expect_match("^ended with 100$", result.out, "the end probe")
compatible = spile("--compatible=5.2", "-e", script, "-c", f"{program('calls')} 1000").expect(
    status=1, err_match="the end probes were not run because of the errors .--compatible.")
expect_true("ended" not in compatible.out and "kept @count=" in compatible.out,
            f"with --compatible, no end probe: {compatible.out}")
failed = spile("-e", 'probe begin { error("at once") } probe end { println("ended") }').expect(
    status=1, out="", err_match="the end probes were not run because of errors of the begin probes")
expect_true(result.err.count("division by 0") <= 2, f"equal errors are told once\n{result.err}")
spile("-e", script + " probe error { println(n) }", "-c",
      f"{program('calls')} 1000").expect(status=1, out_match=r"(?s)^printed\n\d{3,4}\nkept @count=[^e]*$")

many = spile("-D", "MAXERRORS=1000", "-e",
             'probe process.function("foo") { println(1 / ($arg - $arg)) } probe end { println("end") }',
             "-c", f"{program('calls')} 300").expect(status=0, out_match="^end$")
expect(many.err.count("division by 0"), 2, f"lines about the error in\n{many.err}")
expect_match(r"^WARNING: 300 times: ERROR: division by 0", many.err, "how often it came")
