# -t: at the end, how often each probe was hit and how long it took, wherever its handler runs.
from spiletest import *

ROW = r"probe %s \(<input>:1:\d+\), hits: %d, %s: (\d+)min/(\d+)avg/(\d+)max, from: %s, index: %d\n"


def rows(text):
    head, _, report = text.partition("----- probe hit report: \n")
    expect(report != "", True, "a report")
    for least, average, most in re.findall(r": (\d+)min/(\d+)avg/(\d+)max, from", report):
        expect(int(least) <= int(average) <= int(most), True, f"{least} <= {average} <= {most}")
    return report


# Those in spile itself; a handler that leaves early is counted, one that never ran is not there.
done = spile("-t", "-e", "global n probe begin { println(1) } probe timer.ms(1) { if (n++ == 3) exit(); if (n) next } "
             "probe end { println(2) } probe timer.s(1000) { println(3) }")
done.expect(status=0, err="", out_match=r"^1\n2\n-----")
report = rows(done.out)
expect_match("^" + ROW % ("begin", 1, "cycles", "begin", 0) + ROW % (r"timer\.ms\(1\)", 4, "cycles", r"timer\.ms\(1\)", 1) +
             ROW % ("end", 1, "cycles", "end", 2) + "$", report, "the report")

# Those in a process: one row for each place of a probe that has several, one row for one hit by several threads.
done = spile("-t", "-e", 'probe process.function("foo").return { if ($return == 1) next } probe process.function("eight"), '
                         'process.function("leaf") {}',
             "-c", f"{program('calls')} 1000 2")
done.expect(status=0)
report = rows(done.out)
expect_match(ROW % (r'process\("[^"]*calls"\)\.function\("foo[^"]*"\)\.return', 2000, "cycles",
                    r'process\.function\("foo"\)\.return', 0), report)
for name in ("eight", "leaf"):
    expect_match(r'function\("%s[^"]*"\) \(<input>:1:\d+\), hits: 1, ' % name, report)

if os.geteuid() == 0:
    done = spile("--runtime=bpf", "-t", "-e", 'probe process.function("foo") { if ($arg == 1) next }', "-c",
                 f"{program('calls')} 500")
    done.expect(status=0)
    expect_match(ROW % (r'process\("[^"]*calls"\)\.function\("foo[^"]*"\)', 500, "ns", r'process\.function\("foo"\)', 0),
                 rows(done.out))

# spile's own printing at the end does not count as a probe of the script.
done = spile("-t", "-e", "global c probe oneshot { c++ }")
done.expect(status=0, out_match=r"^c=1$")
expect(rows(done.out).count("probe "), 1, "rows")

# After an error, too; and nothing of it without -t.
done = spile("-t", "-e", 'probe begin { println(1) } probe timer.ms(1) { error("x") } probe error { println(2) }')
done.expect(status=1, err_match="ERROR: x", out_match=r"(?s)^1\n2\n-----.*probe begin .*probe error ")
spile("-e", "probe oneshot { println(1) }").expect(status=0, out="1\n")
spile("-p2", "-e", "probe oneshot { println(1) }").expect(status=0, out="# probes\noneshot\n")
