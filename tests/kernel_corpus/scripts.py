#!/usr/bin/env python3
"""Prints the corpus of scripts with handlers in the kernel: "=== NAME" and the script, for each.

Every script's handlers do something in target() only; it ends with its command, the test program `calls` (load.sh). The corpus
has the statements of tests/language/corpus.txt, and combinations that are made here: kinds of keys with operations, operations
with probe points, functions, sizes. To add a feature, add a row to a table.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXIT = 'kernel.trace("sched:sched_process_exit")'

# name: (keys, locals that they are made of)
KEYS = {
    "long": ["tid()"],
    "string": ["execname()"],
    "long_string": ["tid(), execname()"],
    "string_string": ["execname(), sprint(tid())"],
    "three_longs": ["pid(), tid(), cpu()"],
    "mixed_five": ["pid(), execname(), uid(), sprint(cpu()), tid()"],
}
# name: (statement with the array `a` and KEY, declaration)
OPERATIONS = {
    "increment": ("a[KEY]++", "global a"),
    "decrement_used": ("x = a[KEY]--; if (x > 3) n++", "global a, n"),
    "add": ("a[KEY] += cpu()", "global a"),
    "set": ("a[KEY] = gettimeofday_ns()", "global a"),
    "set_string": ("a[KEY] = execname()", "global a"),
    "append": ('a[KEY] .= "x"', "global a"),
    "read_modify": ("a[KEY] = a[KEY] * 3 + 1", "global a"),
    "delete": ("a[KEY] = 1; delete a[KEY]", "global a"),
    "is_in": ("if (KEY_IN in a) n++; else a[KEY] = 1", "global a, n"),
    "accumulate": ("a[KEY] <<< cpu()", "global a"),
    "accumulate_read": ("a[KEY] <<< cpu(); n += @avg(a[KEY]) + @count(a[KEY])", "global a, n"),
    "foreach": ("a[KEY] = 1; foreach (VARIABLES in a) n += a[VALUES]", "global a, n"),
    "foreach_sorted": ("a[KEY] = 1; foreach (VARIABLES in a- limit 3) n += a[VALUES]", "global a, n"),
    "clear": ("a[KEY] = 1; delete a", "global a"),
    "wrap": ("a[KEY]++", "global a%[100]"),
}
PROBES = {
    "trace": EXIT,
    "trace_classic": 'kernel.trace("sched:sched_switch")',
    "two_traces": 'kernel.trace("sched:sched_switch"), kernel.trace("sched:sched_wakeup")',
    "syscall_trace": 'kernel.trace("syscalls:sys_enter_exit_group")',
    "profile": "timer.profile",
    "function": 'kernel.function("do_exit")',
    "return": 'kernel.function("vfs_read").return',
    "several_functions": 'kernel.function("vfs_r*")',
    "system_calls": 'kernel.trace("raw_syscalls:sys_enter")',
    "software_event": "perf.sw.cpu_clock.sample(1000000)",
    "uprobe": 'process("/bin/calls").function("foo")',
}
BODIES = {
    "count": ("c++", "global c"),
    "array": ("c[tid()]++", "global c"),
    "names": ("c[execname()] += 2", "global c"),
    "aggregate": ("c <<< cpu()", "global c"),
    "histogram": ("c[execname()] <<< gettimeofday_us() & 1023", "global c"),
    "printf": (r'printf("%s %d %d\n", execname(), pid(), tid())', ""),
    "pair": ("if (tid() in t) { l <<< gettimeofday_ns() - t[tid()]; delete t[tid()] } else t[tid()] = gettimeofday_ns()",
             "global t, l"),
    "stack": ("c[backtrace()]++", "global c"),
    "user_stack": ("c[ubacktrace()]++", "global c"),
    "point": (r'printf("%s %s\n", pp(), probefunc())', ""),
    "shared": ("n = n + 1; if (n > 1000000) exit()", "global n"),
    "message": ('try { if (c[1] == 0) error("none") } catch (m) { println(m) }', "global c"),
}
STATEMENTS = {
    "uid": "println(uid(), gid())", "ids": "println(pid(), tid())", "cpu": "println(cpu())",
    "times": "println(gettimeofday_s(), gettimeofday_ms(), gettimeofday_us(), gettimeofday_ns(), get_cycles())",
    "parent": "println(ppid())", "pp": "println(pp(), pn(), probefunc(), probemod())",
    "strlen": "println(strlen(execname()))", "substr": "println(substr(execname(), 1, 2))",
    "stringat": "println(stringat(execname(), 0))",
    "isinstr": 'println(isinstr(execname(), "r"))', "replace": 'println(str_replace(execname(), "r", "RR"))',
    "strtol": 'println(strtol("12", 10) + strtol(execname(), 16))',
    "tokenize": 'x = tokenize("a b c", " "); println(x, tokenize("", " "))',
    "text_str": "println(text_str(execname()), text_strn(execname(), 2, 1))", "quoted": "println(string_quoted(execname()))",
    "sprint": 'x = sprint(pid(), " ", execname()); println(x)',
    "sprintf": 'x = sprintf("%05d|%-8s|%x", pid(), execname(), tid()); println(x)',
    "formats": r'printf("%d %i %u %x %X %o %c %s %p %%\n", -1, 2, 3, 255, 255, 8, 65, "s", 4096)',
    "widths": r'printf("%10d|%-10d|%010d|%+d|%.3s|%*d\n", 1, 2, 3, 4, "abcdef", 5, 6)',
    "binary": r'printf("%1b%2b%4b%8b", 1, 2, 3, 4)',
    "many_arguments": 'printf("' + "%d " * 24 + r'\n", ' + ", ".join(f"pid() + {i}" for i in range(24)) + ")",
    "many_strings": 'printf("' + "%s " * 8 + r'\n", ' + ", ".join(["execname()"] * 8) + ")",
    "regex": 'if (execname() =~ "^t.*e$") println(matched(0))',
    "regex_groups": 'if (execname() =~ "(t)(r|s)(u)") println(matched(1), matched(2), ngroups())',
    "regex_not": 'if (execname() !~ "[0-9]+") println(1)',
    "regex_classes": 'if (execname() =~ "[[:alpha:]]+[a-z]{2,4}") println(2)',
    "ternary": 'println(pid() > 5 ? execname() : "small")', "logic": "println((pid() > 1 && tid() > 1) || cpu() == 7)",
    "arithmetic": "x = pid(); println(x * 3 / 7 % 5, x << 3 >> 1, x & 7 | 8 ^ 2, -x, ~x, !x)",
    "division": "x = pid(); println(x / (x & 3), x % (x & 1))",
    "while": "i = 0; while (i < pid()) { i++; if (i % 2) continue; if (i > 50) break }; println(i)",
    "for": "for (i = 0; i < 100; i++) s += i * pid(); println(s)",
    "nested_loops": "for (i = 0; i < 10; i++) for (j = 0; j < 10; j++) for (k = 0; k < 10; k++) s += i * j ^ k; println(s)",
    "string_loop": 's = ""; for (i = 0; i < 20; i++) s .= sprint(i); println(s)',
    "compare_strings": 'println(execname() == "true", execname() < "u", "a" >= execname())',
    "concat": 'println(execname() . "-" . sprint(pid()) . "-" . execname())',
    "try": 'try { x = 1 / (pid() - pid()) } catch (m) { println(m) }',
    "nested_try": 'try { try { error("a") } catch (m) { error("b" . m) } } catch (m) { println(m) }',
    "next": "if (pid() > 5) next; println(1)",
    "error": 'if (pid() < 0) error("never")', "warn": 'if (pid() < 0) warn("never")', "log": 'log("x")', "exit": "exit()",
    "speculation": "s = speculation(); speculate(s, sprint(pid())); commit(s)",
    "discard": 's = speculation(); speculate(s, "no"); discard(s)', "randint": "println(randint(10) < 10)",
    "user_string": "println(user_string_n2(4096, 4, \"bad\"))",
    "kernel_long": "try { println(kernel_long(8)) } catch { println(0) }",
    "kernel_string": "try { println(kernel_string(8)) } catch { println(1) }",
    "task": "println(task_execname(task_current()))", "print_backtrace": "print_backtrace()",
    "print_ubacktrace": "print_ubacktrace()", "sprint_backtrace": "println(sprint_backtrace())",
    "symname": "println(symname(4096), symdata(4096))", "stack": "println(stack(0))", "is_return": "println(is_return())",
    "target": "println(target())",
    "ctime": "println(ctime(gettimeofday_s()))", "usecs": "println(usecs_to_string(gettimeofday_us()))",
    "msecs": "println(msecs_to_string(gettimeofday_ms()))",
    "errno": "println(errno_str(2), errno_str(-13))", "signal": "println(sa_flags_str(4))",
    "bytes": "println(htonl(1), ntohs(256))", "ip": 'println(format_ipaddr(16777343, 2))',
    "strpos": 'println(strpos("abc", "c"))',
}
FUNCTIONS = {
    "simple": ("function f:long(x:long) { return x * 2 }", "println(f(pid()))"),
    "string": ('function f:string(x:string) { return x . "!" }', "println(f(execname()))"),
    "recursive": ("function f:long(x:long) { if (x < 2) return 1; return x * f(x - 1) }", "println(f(5))"),
    "mutual": ("function a:long(x:long) { return x ? b(x - 1) : 1 } function b:long(x:long) { return x ? a(x - 1) : 0 }",
               "println(a(6))"),
    "two_calls": ("function fib:long(n:long) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }", "println(fib(7))"),
    "globals": ("global g function f(k:long) { g[k]++; return g[k] }", "println(f(pid()))"),
    "many_arguments": ("function f:long(a, b, c, d, e, g, h) { return a + b * c + d * e + g * h }",
                       "println(f(1, 2, 3, 4, 5, 6, pid()))"),
    "overloaded": ("function f:long(x:long) { if (x > 3) next; return 1 } function f:long(x:long) { return 2 }",
                   "println(f(1), f(pid()))"),
    "default_type": ("function f(x) { return x + 1 }", "println(f(pid()))"),
    "throws": ('function f:long(x:long) { if (x) error("no"); return 1 }', "try { println(f(pid())) } catch (m) { println(m) }"),
    "loops": ("function f:long(n:long) { for (i = 0; i < n; i++) s += i; return s }", "println(f(pid() & 63))"),
    "strings_by_depth": ('function f:string(n:long) { return n ? f(n - 1) . "x" : "" }', "println(f(6))"),
}
EXTRACTORS = ["@count", "@sum", "@min", "@max", "@avg", "@variance"]
TYPED = {  # of kernel.function and its return: needs the kernel's types
    "argument": ('kernel.function("vfs_read")', "println($count)"),
    "pointer": ('kernel.function("vfs_read")', "println($file->f_flags)"),
    "deep": ('kernel.function("vfs_read")', "println($file->f_inode->i_ino)"),
    "parameters": ('kernel.function("vfs_read")', "println($$parms)"),
    "returned": ('kernel.function("vfs_read").return', "println($return)"),
    "entry": ('kernel.function("vfs_read").return', "println(@entry($count))"),
    "entry_time": ('kernel.function("vfs_read").return', "t <<< gettimeofday_ns() - @entry(gettimeofday_ns())"),
    "cast": ('kernel.function("do_exit")', 'println(@cast(task_current(), "task_struct", "kernel")->pid)'),
    "pretty": ('kernel.function("vfs_read")', "println($file->f_path$)"),
    "name": ('kernel.function("vfs_read")', "println(kernel_string($file->f_path->dentry->d_name->name))"),
    "tracepoint_record": ('kernel.trace("sched:sched_switch")', "println($prev_pid, $next_comm)"),
    "tracepoint_argument": ('kernel.trace("sched:sched_switch")', "println($prev->pid, $next->comm$)"),
    "defined": ('kernel.function("do_exit")', "println(@defined($code) ? $code : -1)"),
    "statement": ('kernel.statement("vfs_read")', "println(1)"),
    "maxactive": ('kernel.function("vfs_read").return.maxactive(50)', "println(1)"),
}


def variables(key):
    count = len(re.sub(r"\([^()]*\)", "", key).split(","))
    names = [f"k{i}" for i in range(count)]
    return ("[" + ", ".join(names) + "]" if count > 1 else names[0]), ", ".join(names)


def probe(point, body, declarations=""):
    return f"{declarations}\nprobe {point} {{\n  if (pid() == target()) {{\n    {body}\n  }}\n}}"


def language():
    corpus = (ROOT / "tests/language/corpus.txt").read_text()
    for block in re.split(r"^=== ", corpus, flags=re.M)[1:]:
        name, rest = block.split("\n", 1)
        declarations, body = rest.split("\n---\n", 1)
        yield f"language.{name}", probe(EXIT, body.rstrip("\n"), declarations)


def scripts():
    yield from language()
    for key_name, (key,) in KEYS.items():
        listed, values = variables(key)
        for name, (statement, declaration) in OPERATIONS.items():
            one = "[" + key + "]" if "," in values else key
            body = statement.replace("KEY_IN", one).replace("KEY", key).replace("VARIABLES", listed).replace("VALUES", values)
            yield f"keys.{key_name}.{name}", probe(EXIT, body, declaration)
    for point_name, point in PROBES.items():
        for name, (statement, declaration) in BODIES.items():
            yield f"points.{point_name}.{name}", probe(point, statement, declaration)
    for name, statement in STATEMENTS.items():
        yield f"statements.{name}", probe(EXIT, statement)
    for name, (declaration, statement) in FUNCTIONS.items():
        yield f"functions.{name}", probe(EXIT, statement, declaration)
    for extractor in EXTRACTORS:
        yield f"extractors.{extractor[1:]}", probe(EXIT, f"s <<< tid(); println({extractor}(s))", "global s")
        yield f"extractors.{extractor[1:]}_of_array", probe(EXIT, f"s[execname()] <<< tid(); println({extractor}(s[execname()]))",
                                                            "global s")
    for histogram in ("@hist_log(s)", "@hist_linear(s, 0, 100, 10)"):
        yield f"extractors.{histogram[1:9]}", probe(EXIT, f"s <<< tid(); print({histogram})", "global s")
    for name, (point, statement) in TYPED.items():
        yield f"typed.{name}", probe(point, statement, "global t" if "t <<<" in statement else "")
    for count in (5, 20, 60):
        yield f"size.statements_{count}", probe(
            EXIT, "; ".join(f"a[{i}, execname()] = n + {i}; n += a[{i}, execname()]" for i in range(count)), "global a, n")
        yield f"size.branches_{count}", probe(
            EXIT, "; ".join(f"if (tid() % {i + 2} == n) n += {i}; else a[n] = {i}" for i in range(count)), "global a, n")
        yield f"size.printf_{count}", probe(EXIT, "; ".join(rf'printf("%s {i} %d\n", execname(), tid())' for i in range(count)))
    for count in (2, 8, 20):
        yield f"size.globals_{count}", probe(EXIT, "; ".join(f"g{i} = g{(i + 1) % count} + 1" for i in range(count)),
                                             "global " + ", ".join(f"g{i}" for i in range(count)))


if __name__ == "__main__":
    for script_name, text in scripts():
        print(f"=== {script_name}\n{text.strip()}")
