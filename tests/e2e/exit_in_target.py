# variants: printing counting returns library abort
# exit() in a traced program: the handler goes on, new ones do not begin, end probes run, the program is not disturbed.
from spiletest import *

script, printed = {
    "printing": ('probe process.function("foo") { printf("%d ", $arg) if ($arg == 3) exit() print("went on ") } '
                 'probe end { println("end") }', "0 went on 1 went on 2 went on 3 went on end\n"),
    # Without exit() this handler has no guard.
    "counting": ('global n probe process.function("foo") { n++ } probe process.function("foo").return { '
                 'if ($return > 8) exit() } probe end { println(n) }', "4\n"),
    "returns": ('probe process.function("foo").return { printf("%d ", $return) exit() } probe end { println("end") }', "1 end\n"),
    "library": ('function leave(x) { if (x == 2) exit() } probe process.function("foo") { leave($arg) print($arg) } '
                'probe end { println() }', "012\n"),
    "abort": ('probe process.function("foo") { print($arg) if ($arg == 1) abort() print("-") } probe end { println() }', "0-1\n"),
}[VARIANT]
result = spile("-e", script, "-c", f"{program('calls')} 100000", "-o", "/dev/stderr").expect(status=0)
expect(result.err, printed)
expect_match("^foo 14999950000$", result.out, "the program's own output")
