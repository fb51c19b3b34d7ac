# timer.profile in processes: samples of the thread's own processor time, with the stack, and without disturbing it.
from spiletest import *

result = spile("--runtime=inproc", "-e", r"""global n, hot, stacks
probe timer.profile { n++; hot[usymname(uaddr())]++; stacks[usymname(ustack(1))]++; if (execname() != "watched") error("who?") }
probe end { printf("samples %d hot %d under caller %d\n", n, hot["hot"], stacks["caller"]) }""",
               "-c", f"{program('watched')} 1 2000000000")
got = re.search(r"samples (\d+) hot (\d+) under caller (\d+)", result.out)
expect_true(got is not None, str(result))
samples, hot, under = map(int, got.groups())
expect_true(samples >= 10 and hot >= 0.9 * samples and under >= 0.9 * samples, str(result))
spile("--runtime=inproc", "-e", "probe timer.profile { exit() }").expect(status=1, err_match="use -c COMMAND or -x PID")
