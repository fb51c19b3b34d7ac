# variants: deep tail noreturn cancel exit coroutines altstack backtrace
# A return probe fires once for each real return and for nothing else, whatever way a program leaves its functions; and it
# never misses one, nor does the program notice.
from spiletest import *

# Of each function: calls and returns, for N below.
WANTED = {
    "deep": (10000, "deep 10001 10001"),
    "tail": (100, "leaf 100 100 tail_one 100 100 tail_two 100 100"),
    "noreturn": (100, "calls_never 100 100 never 100 0 outer 100 100"),
    "cancel": (20, "cancelled 20 0 clean 20 20 leaf 20 20 waits 20 0 waits_cleanly 20 0"),
    "exit": (20, "clean 10 10 exits 20 10 leaf 10 10 leaves 20 10 leaves_cleanly 20 10"),
    "coroutines": (0, "body 8 0 schedule 15 15 yields 800 800 yields_twice 400 400"),
    "altstack": (100, "in_handler 100 50 on_signal 100 50 raises 100 50 survives 100 100"),
    "backtrace": (300, "looks 6300 6300"),
}
number, wanted = WANTED[VARIANT]
result = spile("-e", r"""global e, l
probe process.function("*").call { e[ppfunc()]++ }
probe process.function("*").return { l[ppfunc()]++ }
probe end { foreach (f+ in e) if (f != "_start") printf("%s %d %d ", f, e[f], l[f]) }""",
               "-c", f"{program('returns')} {VARIANT} {number}").expect(status=0, err="")
own = start(program("returns"), VARIANT, number).communicate()[0].decode()
counts = re.findall(r"(\S+) (\d+) (\d+)", wanted)
expect(result.out, own + "".join(f"{f} {e} {l} " for f, e, l in sorted([*counts, ("main", "1", "1")])))
