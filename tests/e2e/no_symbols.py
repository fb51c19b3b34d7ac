# A program without any symbols.
from spiletest import *

result = spile("-e", 'probe process.function("foo") { }', "-c", f"{program('calls_no_symbols')} 10")
result.expect(status=1, out="", err_match=r"error:.*")
expect_match("symbol", result.err)
# Functions by their dynamic symbols alone: that nothing is known of their variables is said; "" would mean that they have none.
spile("-e", 'probe process.function("foo") { println("<", $$parms, ">") exit() }', "-c", f"{program('calls_stripped')} 1").expect(
    status=0, out_match="^<>$",
    err_match=r"warning: '\$\$parms' is empty in functions of .*calls_stripped, which has no debug information")
