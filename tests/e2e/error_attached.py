# An error in a handler of an attached program ends the session; the program runs on as it was.
from spiletest import *

target = server(seconds=30, threads=2)
spile("-e", 'global z probe process.function("work") { println($arg / z) }', "-x", target.pid).expect(
    status=1, err_match="division by 0")
expect_untouched(target.pid)
expect_match("wrong 0", finish(target))
