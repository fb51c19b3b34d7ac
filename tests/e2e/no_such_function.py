# variants: command attach
# A misspelt function: an error that points at it and names what was meant; the program is not touched, nor started.
from spiletest import *

if VARIANT == "command":
    result = spile("-e", 'probe process.function("fibonaci") { }', "-c", f"{program('calls')} 10")
else:
    target = server(seconds=30)
    result = spile("-e", 'probe process.function("wrok") { }', "-x", target.pid)
    expect_untouched(target.pid)
    expect_match("wrong 0", finish(target))
result.expect(status=1, out="", err_match=r"fibonacci" if VARIANT == "command" else r"\bwork\b")
expect_match(r"error:", result.err)
expect_match(r"^\s*(\d+ )?\|? *\^", result.err, "the caret")
