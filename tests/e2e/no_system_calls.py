# What handlers commonly do makes no system call: a program that has forbidden them to itself lives, and is counted.
# long
from spiletest import *

calls = 20000
statements = {  # what is declared and read in the end, and what the handler does
    "counter": ("c", "println(c)", "c++"),
    "aggregate": ("s", "println(@count(s))", "s <<< $i"),
    "array": ("a", "foreach ([x, y] in a limit 1) println(x)", "a[$i & 63, 1]++"),
    "array of aggregates": ("h", "foreach (x in h limit 1) println(@max(h[x]))", "h[$i & 7] <<< $i"),
    "string": ("m", "println(m)", 'm = user_string($text) . "x"'),
    "printf": ("c", "println(c)", 'if ($i % 100 == 0) printf("%d %s\\n", $i, user_string($text)); c++'),
    "clock": ("s", "println(@count(s))", "s <<< gettimeofday_ns()"),
    "cycles": ("s", "println(@count(s))", "s <<< get_cycles()"),
    "member": ("c", "println(c)", "c += $node->value"),
    "bad pointer": ("c", "println(c)", "if ($i % 100 == 0) try { c += $node->next->value } catch { c++ }"),
    "stack": ("a", "foreach (x in a limit 1) println(x)", "a[ustack(1)]++"),
    "backtrace": ("c", "println(c)", "c++; if ($i % 100 == 0) print_ubacktrace()"),
    "process": ("a", "foreach ([x, y] in a limit 1) println(x)", "a[pid(), tid()]++"),
}

forbidden = subprocess.run([program("strict"), "1", "open"])
expect(forbidden.returncode, -signal.SIGKILL, "what becomes of a program that makes a forbidden call")

for what, (variable, shown, statement) in statements.items():
    for suffix in ["", ".return"]:
        if suffix and what == "bad pointer":
            continue  # read at the entry, where nothing catches it
        script = (f"global hits, {variable}\n"
                  f'probe process.function("work"){suffix} {{ hits++; {statement} }}\n'
                  f'probe end {{ {shown}; printf("hits %d\\n", hits) }}')
        result = spile("-e", script, "-c", f"{program('strict')} {calls}")
        result.expect(out_match=rf"^hits {calls}$")
        expect_match(rf"^sum {calls * (calls - 1) // 2 + calls * (ord('t') + 4)}$", result.out, f"output with {what}{suffix}")
