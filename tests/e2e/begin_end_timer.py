# The controller's own probes: begin, end, timers, in order, without any program.
from spiletest import *

spile("-e", r"""global n probe begin { println("begin") } probe timer.ms(20) { if (++n == 5) exit() }
probe end { printf("end %d\n", n) }""").expect(out="begin\nend 5\n", status=0)
spile("-e", 'probe begin { println("hello"); exit() }').expect(out="hello\n", status=0)
spile("-e", 'probe begin(2) { println("b") exit() } probe begin(1) { println("a") } probe end(2) { println("d") } '
            'probe end(1) { println("c") }').expect(out="a\nb\nc\nd\n", status=0)
spile("-e", 'probe begin { error("stop") } probe error { println("error probe") } probe end { println("end") }').expect(
    out="error probe\n", status=1, err_match="stop")
spile("-e", 'probe oneshot { println("once") } probe end { println("end") }').expect(out="once\nend\n", status=0)
