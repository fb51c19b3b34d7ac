# variants: counts values many inlines attached with_c
# Go: entries are hit once for each call although stacks grow in between, returns once for each real return, whichever thread
# the goroutine is on by then and wherever its stack has moved; panics and runtime.Goexit leave functions without one.
from spiletest import *

binary = program("go_calls")


def own_counts(output):
    found = re.search(r"works (\d+) grow (\d+) (\d+) throws (\d+) (\d+) quit (\d+) (\d+)", output)
    expect_true(found is not None, f"the program says what it did: {output}")
    return [int(n) for n in found.groups()]


def expected(output):
    works, grows, grown, throws, thrown, quits, left = own_counts(output)
    lines = {"grow": (grows, grown), "throws": (throws, thrown), "quit": (quits, left), "main": (1, 1)}
    for name in ["(*box).area", "parse", "total", "swap", "greet", "catches", "work", "pick"]:
        lines[name] = (works, works)
    return "".join(f"main.{name} {e} {r}\n" for name, (e, r) in sorted(lines.items()))


NAMES = ["main.main", "main.work", "main.grow", "main.parse", "main.total", "main.swap", "main.greet", "main.pick",
         "main.catches", "main.throws", "main.quit", "main.(*box).area"]


def points(suffix):
    return ", ".join(f'process("{binary}").function("{name}"){suffix}' for name in NAMES)


COUNTS = f"""global e, r
probe {points(".call")} {{ e[ppfunc()]++ }}
probe {points(".return")} {{ r[ppfunc()]++ }}
probe end {{ foreach (f+ in e) printf("%s %d %d\\n", f, e[f], r[f]) }}"""

if VARIANT == "counts":
    result = spile("-DMAXSKIPPED=0", "-e", COUNTS, "-c", f"{binary} 300").expect(status=0)
    program_output = result.out[:result.out.index("main.")]
    expect(result.out, program_output + expected(program_output))
    expect_true("missed" not in result.err, str(result))
elif VARIANT == "values":
    # Every value that a handler has says what the program did: parameters at entry, kept until the return, and results.
    result = spile("-e", r"""global bad, n
        function check(good) { n++; if (!good) bad++ }
        probe process.function("main.grow").return { check($return == $depth && @entry($depth) == returnval()) }
        probe process.function("main.leaf").return { check($return == $a - $b) }
        probe process.function("main.parse").return {
          check($return == ($text->len ? $text->len * $base : -1) && ($r1->tab != 0) == ($text->len == 0)) }
        probe process.function("main.total").return { check($return == $list->array[0] + 3 + $label->len) }
        probe process.function("main.swap").return { check($return->a == $p->b && $return->b == $p->a) }
        probe process.function("main.greet") { check(user_string_n($name->str, $name->len) == "bob") }
        probe process.function("main.greet").return { check(user_string_n($return->str, $return->len) == "hello bob") }
        probe process.function("main.catches").return { check($return == ($n % 2 ? $n * 10 : $n)) }
        probe end { printf("%d wrong of %d\n", bad, n) }""", "-c", f"{binary} 100").expect(status=0)
    works, grows = own_counts(result.out)[:2]
    leaves = sum(i % 9 in (1, 3, 7) for i in range(100)) + works
    expect(re.search(r"(\d+) wrong of (\d+)", result.out).groups(), ("0", str(grows + leaves + 6 * works)), f"values\n{result}")
elif VARIANT == "many":
    # All functions, the runtime's too, with handlers that need a stack of their own: the program is unharmed.
    own = start(binary, 100).communicate()[0].decode()
    result = spile("-DMAXSKIPPED=0", "-e", r"""global lengths, n
        probe process.function("*").call { n++; lengths <<< strlen(sprintf("%s %d", ppfunc(), tid())) }
        probe process.function("*").return { n += @entry(gettimeofday_ns()) != 0 }
        probe end { println(n > 10000 && @min(lengths) > 3) }""", "-c", f"{binary} 100", timeout=150).expect(status=0)
    expect(result.out, own + "1\n")
elif VARIANT == "inlines":
    # Inlined bodies begin with a nop that a jump may take; hardly any place is left to a breakpoint.
    own = start(binary, 100).communicate()[0].decode()
    result = spile("-v", "-e", 'global n probe process.function("*") { n++ } probe end { println(n > 10000) }', "-c",
                   f"{binary} 100")
    expect(result.expect(status=0).out, own + "1\n")
    armed, sites, by_int3 = map(int, re.search(r"Armed (\d+) of (\d+) sites: (\d+) by int3", result.err).groups())
    expect_true(armed == sites > 3000 and by_int3 < sites / 50, result.err)
elif VARIANT == "with_c":
    # Go calls C, C calls Go back, on goroutines' threads and on its own: the program says how often.
    own = start(program("go_and_c")).communicate()[0].decode()
    names = [line.split()[0] for line in own.splitlines()[1:]]
    entries = ", ".join(f'process.function("{name}").call' for name in names)
    returns = ", ".join(f'process.function("{name}").return' for name in names)
    result = spile("-DMAXSKIPPED=0", "-e", f"""global e, r probe {entries} {{ e[ppfunc()]++ }} probe {returns} {{ r[ppfunc()]++ }}
        probe end {{ foreach (f in e) printf("%s %d %d\\n", f, e[f], r[f]) }}""", "-c", program("go_and_c")).expect(status=0)
    counts = {line.split()[0]: line.split()[1:] for line in result.out.splitlines()[len(own.splitlines()):]}
    for name, calls in (line.split() for line in own.splitlines()[1:]):
        expect(counts[name], [calls, calls], f"entries and returns of {name}\n{result}")
else:
    process = start(binary, 40, 120)
    session = Session("-DMAXSKIPPED=0", "-e", f"""global e, r, late
        probe process("{binary}").function("main.pick") {{ if (e++ == 100) println("counted") }}
        probe process("{binary}").function("main.pick").return {{ r++; late += gettimeofday_ns() < @entry(gettimeofday_ns()) }}
        probe end {{ println(e > 100 && e - r < 3 && r - e < 3, " ", late) }}""", "-x", process.pid).attached(process.pid)
    session.wait_output("^counted$")
    result = session.stop()
    expect_true("1 0\n" in result.out and result.status == 0, str(result))
    expect_untouched(process.pid)
    process.terminate()
    output = process.communicate()[0].decode()
    works, grows, grown, throws, thrown, quits, left = own_counts(output)
    expect((grows, throws, thrown * 2, quits, process.returncode), (grown, works, works, works, 0), "the program's own counts")
