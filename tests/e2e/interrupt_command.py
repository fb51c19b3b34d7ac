# Ctrl-C while the command of -c runs: end probes run, the status is 0.
from spiletest import *

session = Session("-e", 'probe begin { println("begin") } global c probe process.function("work") { '
                        'if (c++ == 1000) println("counted") } probe end { printf("c %d\\n", c > 0) }', "-c",
                  f"{program('server')} 30 1")
session.wait_output("^ready$").wait_output("^counted$")
session.stop().expect(out_match="^c 1$", status=0)
