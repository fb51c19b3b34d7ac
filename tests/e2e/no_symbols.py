# A program without any symbols.
from spiletest import *

result = spile("-e", 'probe process.function("foo") { }', "-c", f"{program('calls_no_symbols')} 10")
result.expect(status=1, out="", err_match=r"error:.*")
expect_match("symbol", result.err)
