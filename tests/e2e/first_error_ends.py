# variants: one several threads guru
# After one error more than MAXERRORS no handler of a process begins: nothing is counted, printed or written from then on.
from spiletest import *

calls = f"{program('calls')} 100000"
if VARIANT == "one":
    for failing in ('error("stop")', "println(1 / (n - n))", "a[n] = 1; a[n + 1] = 1"):
        spile("-e", f"""global n, r, a[1] probe process.function("foo") {{ n++; {failing} }}
probe process.function("bar") {{ r++ }}
probe error {{ printf("r=%d n=%d %d\\n", r, n, a[5]) }}""", "-c", calls).expect(status=1, out_match="^r=0 n=1 0$",
                                                                                err_match="Number of errors: 1,")
elif VARIANT == "several":
    spile("-DMAXERRORS=2", "-e", 'global n probe process.function("foo") { n++; error("stop") } probe error { println("n=", n) }',
          "-c", calls).expect(
        status=1, out_match="^n=3$", err_match="3 times: ERROR: stop")
    spile("-e", 'global n probe process.function("foo") { n++; try { error("no") } catch { } } probe end { println("n=", n) }',
          "-c", calls).expect(
        status=0, out_match="^n=100000$")
    spile("--suppress-handler-errors", "-e",
          'global n probe process.function("foo") { n++; error("stop") } probe end { println("n=", n) }', "-c", calls
          ).expect(status=0, out_match="^n=100000$")
elif VARIANT == "threads":
    # Handlers that run when the first one fails may fail, too.
    server_program = server(60, threads=4)
    result = spile("-e", 'global n, r probe process.function("work") { n++; error("stop") } '
                         'probe process.function("work").return { r++ } '
                   'probe error { printf("%d %d\\n", n <= 4, r <= 4) }', "-x", server_program.pid).expect(status=1, out="1 1\n")
    expect_untouched(server_program.pid)
else:
    out = spile("-g", "-e", 'probe process.function("foo") { error("stop") } probe process.function("bar").return { '
                            '$return = 99 }', "-c", calls).expect(status=1).out
    expect_match("^bar 33$", out, "what bar gives is left alone")
