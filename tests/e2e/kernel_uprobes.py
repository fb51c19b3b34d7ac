# --runtime=bpf: functions of one program, counted, timed and printed by handlers in the kernel; exact.
# variants: counts returns clears threads printed registers
from spiletest import *

calls = program("calls")


def bpf(script, command):
    result = spile("--runtime=bpf", "-o", "/dev/stderr", "-e", script, "-c", command)
    if "load eBPF programs" in result.err:
        skip(result.err.strip())
    return result.expect()


if VARIANT == "counts":
    bpf(r"""global c, by_name, s, mod
probe process.function("foo") { c++; by_name[execname(), $arg & 1]++; s <<< $arg; mod[$arg % 3] <<< $arg }
probe end {
  printf("%d\n", c)
  foreach ([n, k+] in by_name) printf("%s %d %d\n", n, k, by_name[n, k])
  printf("%d %d %d %d %d\n", @count(s), @sum(s), @min(s), @max(s), @avg(s))
  foreach (k+ in mod) printf("%d: %d %d\n", k, @count(mod[k]), @max(mod[k]))
}""", f"{calls} 1000").expect(
        err="1000\ncalls 0 500\ncalls 1 500\n1000 499500 0 999 499\n0: 334 999\n1: 333 997\n2: 333 998\n")

if VARIANT == "returns":
    # fibonacci(15) by recursion: entry values belong to their own frame. 610 calls of fibonacci(1).
    bpf(r"""global calls, wrong, latency
probe process.function("fibonacci").return {
  calls[@entry($n)]++
  latency <<< gettimeofday_ns() - @entry(gettimeofday_ns())
}
probe process.function("foo").return { if ($return != 3 * @entry($arg) + 1) wrong++ }
probe end {
  printf("%d %d %d\n", calls[15], calls[1], calls[0])
  printf("%d %d %d\n", @count(latency), @min(latency) > 0, wrong)
}""", f"{calls} 300").expect(err="1 610 377\n1973 1 0\n")

if VARIANT == "clears":
    # What a timer reads and clears while handlers add is neither lost nor counted twice.
    bpf(r"""global c, a, s, total, sum, samples, rounds
probe process.function("foo") { c++; a[$arg & 7]++; s <<< $arg }
probe timer.ms(20) { rounds++; total += c; c = 0; foreach (k in a) sum += a[k]; delete a; samples += @count(s); delete s }
probe end {
  total += c; foreach (k in a) sum += a[k]; samples += @count(s)
  printf("%d %d %d %d\n", total, sum, samples, rounds > 0)
}""", f"{calls} 30000").expect(err="30000 30000 30000 1\n")

if VARIANT == "threads":
    # `last` is under a lock. A handler that can't have it in time is skipped as a whole, and reported: hits and skips are the
    # calls.
    result = bpf(r"""global c, a, last probe process.function("foo") { c++; a[tid()]++; last = $arg }
probe end { threads = 0; sum = 0; foreach (t in a) { threads++; sum += a[t] }; printf("%d %d %d %d\n", c, threads, sum, last) }""",
        f"{calls} 3000 2")
    counts = [int(number) for number in result.err.splitlines()[0].split()]
    skipped = sum(int(number) for number in re.findall(r"WARNING: (\d+) skipped probes", result.err))
    expect(counts, [6000 - skipped, 2, 6000 - skipped, 2999], "hits, threads, hits by thread, last argument")
    expect_true(skipped < 60, f"{skipped} of 6000 handlers were skipped")

if VARIANT == "printed":
    bpf(r"""global greeting = "hello"
probe process.function("foo") { if ($arg < 3) printf("foo %d %s\n", $arg, execname()) }
probe process.function("greet") { printf("%s %s\n", greeting, user_string($name)) }
probe process.function("bar") { printf("%d %d %d %s\n", $p->value, $p->next->value, $p->numbers[2], probefunc()) }""",
        f"{calls} 10").expect(
        err="foo 0 calls\nfoo 1 calls\nfoo 2 calls\n10 20 3 bar\nhello world\n")

if VARIANT == "registers":
    # A large handler reads the same registers at its beginning and at its end, also through a function.
    bpf(r"""global wrong, hits
function nth(n) { return long_arg(n) }
probe process.function("foo") {
  first = nth(1); text = sprintf("%d", int_arg(1)); try { if (first < 0) error(text) } catch (m) { println(m) }
  if (first != long_arg(1) || text != sprint($arg) || nth(1) != $arg) wrong++
  hits++
}
probe end { printf("%d %d %d\n", hits, wrong, 0) }""", f"{calls} 300").expect(err="300 0 0\n")
