# Scripts as people have them from SystemTap's documentation, unmodified.
from spiletest import *

directory = temporary_directory()


def script(name, text):
    (directory / name).write_text(text)
    return directory / name


calls = program("calls")

# The tracer of calls, in the form of the well-known example.
tracer = script("callgraph.stp", r"""#! /usr/bin/env stap

function trace(entry_p, extra) {
  %( $# > 1 %? if (tid() in trace) %)
  printf("%s%s%s %s\n",
         thread_indent (entry_p),
         (entry_p>0?"->":"<-"),
         ppfunc (),
         extra)
}

%( $# > 1 %?
global trace
probe $2.call {
  trace[tid()] = 1
}
probe $2.return {
  delete trace[tid()]
}
%)

probe $1.call   { trace(1, $$parms) }
probe $1.return { trace(-1, $$return) }
""")
out = spile(tracer, f'process("{calls}").function("foo")', "-c", f"{calls} 2", "-o", "/dev/stderr").err
expect(re.sub(r"^ +\d+ calls\(\d+\)", "T", out, flags=re.M),
       "T:->foo arg=0x0\nT:<-foo return=0x1\nT:->foo arg=0x1\nT:<-foo return=0x4\n")
out = spile(tracer, f'process("{calls}").function("*")', f'process("{calls}").function("bar")', "-c", f"{calls} 2", "-o",
            "/dev/stderr").err
expect_match(r"calls\(\d+\):->bar p=0x", out)
expect_true("foo" not in out, "only what happens within bar is traced")

# Counts of calls by function.
counter = script("functioncallcount.stp", r"""probe $1.call {
  called[ppfunc()] <<< 1
}
global called
probe end {
  foreach (fn in called-)
    printf("%s %d\n", fn, @count(called[fn]))
  delete called
}
""")
out = spile(counter, f'process("{calls}").function("*")', "-c", f"{calls} 3", "-o", "/dev/stderr").err
expect_match(r"^fibonacci 1973$\n^countdown 10$\n^foo 3$", out)

# The language reference's recursion, statistics and arrays.
spile("-e", r"""
function factorial(n) {
  if (n <= 1) return 1
  return n * factorial(n-1)
}
global x, reads
probe begin {
  for (i = 0; i < 6; i++)
    printf("%d! = %d\n", i, factorial(i))
  for (i = 0; i < 100; i++) x <<< i % 10
  printf("count %d sum %d min %d max %d avg %d\n", @count(x), @sum(x), @min(x), @max(x), @avg(x))
  reads["a", 1] = 3; reads["b", 2] = 9; reads["c", 1] = 7
  foreach ([name, k] in reads- limit 2) printf("%-5s %d %d\n", name, k, reads[name, k])
  if (["a", 1] in reads) delete reads["a", 1]
  foreach ([name+, k] in reads) printf("%s;", name)
  printf("\n")
  exit ()
}
""").expect(status=0, out="""0! = 1
1! = 1
2! = 2
3! = 6
4! = 24
5! = 120
count 100 sum 450 min 0 max 9 avg 4
b     2 9
c     1 7
b;c;
""")

# How many jiffies a second has.
spile("-e", r"""
global count_jiffies, count_ms
probe timer.jiffies(100) { count_jiffies ++ }
probe timer.ms(100) { count_ms ++ }
probe timer.ms(1143)
{
  hz=(1000*count_jiffies) / count_ms
  printf ("jiffies:ms ratio %d:%d => CONFIG_HZ=%d\n",
    count_jiffies, count_ms, hz)
  exit ()
}
""").expect(status=0, out_match=r"^jiffies:ms ratio \d+:\d+ => CONFIG_HZ=\d+$")
