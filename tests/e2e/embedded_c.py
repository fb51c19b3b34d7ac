# Embedded C and regular expressions inside a traced process: general registers only, no library, the program unharmed.
from spiletest import *

result = spile("-g", "-e", r"""
%{ static long collatz(long n) { long steps = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; } return steps; } %}
global most, lines, bad
function steps:long(n:long) %{ /* pure */ STAP_RETVALUE = STAP_ARG_n > 0 ? collatz(STAP_ARG_n) : 0; %}
function name:string(n:long) %{ snprintf(STAP_RETVALUE, MAXSTRINGLEN, "call-%04lld.end", (long long)STAP_ARG_n); %}
function picky(n:long) %{ if (STAP_ARG_n % 100 == 0) STAP_ERROR("hundreds"); %}
probe process.function("foo") {
  s = steps($arg)
  if (s > most) most = s
  if (name($arg) =~ "-0*([1-9][0-9]*7)[.]" && strtol(matched(1), 10) == $arg) lines++
  try { picky($arg) } catch (m) { if (m == "hundreds") bad++ }
}
probe end { printf("%d %d %d\n", most, lines, bad) }""", "-c", f"{program('calls')} 1000", "-o", "/dev/stderr")


def steps(n):
    count = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return count


most = max(steps(n) for n in range(1000))
lines = sum(1 for n in range(10, 1000) if n % 10 == 7)
result.expect(err=f"{most} {lines} 10\n")
expect_match("^foo 1499500$", result.out, "the program's own output")

# C code that faults in spile ends the session with an error; the program goes on to its end.
faulty = spile("-g", "-e", 'function f() %{ *(volatile int*)8 = 1; %} probe process.end { f() } probe end { println("never") }',
               "-c", "echo alive")
faulty.expect(status=1, out="alive\n", err_match="ERROR: code of the script that runs in spile died of SIGSEGV: the session ends")
