# The command that -c started: its output is untouched, and its status is known as with stap.
from spiletest import *

spile("-e", 'probe end { println("end") }', "-c", "sh -c 'echo one; exit 0'").expect(out="one\nend\n", status=0)
spile("-e", 'probe end { println("end") }', "-c", "sh -c 'exit 3'").expect(out="end\n", status=1,
                                                                           err_match="(status|code) 3|exit.* 3")
spile("-e", 'probe end { println("end") }', "-c", "sh -c 'kill -9 $$'").expect(out="end\n", status=1,
                                                                               err_match="signal 9|SIGKILL|[Kk]illed")
spile("-e", 'probe end { println("end") }', "-c", "/no/such/program").expect(status=1)
