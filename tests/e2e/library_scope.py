# The library has names of its own: what a script calls its globals, functions and macros changes nothing there, and
# what the library calls its variables nothing in the script.
from spiletest import *

calls = f"{program('calls')} 3"


def run(script, out, *options, **more):
    spile("-e", script, *options, **more).expect(out=out, status=0)


# Globals called as the library's local variables are.
for name in ["n", "name", "i", "s", "rest", "at", "text", "left", "address", "pid", "line", "length", "out", "number"]:
    run(f"""global {name} = 7
        probe begin {{ syscall_name(0); tokenize("a,b", ","); thread_indent(1); errno_str(2); str_replace("ab", "a", "c");
          ip_ntop(1)
        printf("%s %d\\n", tokenize("", ","), {name}); exit() }}""", "b 7\n")
run("""global name = "mine" probe begin { println(syscall_name(1), " ", name); exit() }""", "write mine\n")
spile("-e",
      """global n, name, line, i = 5 probe process.function("foo") { n++; print_ubacktrace_fileline(); println(i) exit() }""",
      "-o", "/dev/stderr", "-c", calls).expect(err_match=r"^ 0x\w+ : foo\+0x0/0x\w+ .*\n(.*\n)*5$", status=0)
# A function of the script serves the script, and the library has its own.
run("""function strlen:long (s:string) { return 99 } function substr:string (s:string, a:long, b:long) { return "no" }
    probe begin { println(strlen("abc"), " ", substr("abc", 0, 1), " ", tokenize("ab,cd", ","), " ", text_str("x")); exit() }""",
    "99 no ab x\n")
run("""function syscall_name:string (n:long) { return "x" } probe begin { println(syscall_name(0)); exit() }""", "x\n")
# Overloads: by the number of parameters, and by next, down to the library's.
run("""function strlen:long (s:string, more:long) { return 1000 + more }
    probe begin { println(strlen("abc"), " ", strlen("abc", 5)); exit() }""", "3 1005\n")
run("""function strlen:long (s:string) { if (s != "x") next; return 50 }
    function tokenize:string (s:string, d:string) { if (s != "x") next; return "mine" }
    probe begin { println(strlen("abc"), " ", strlen("x"), " ", tokenize("a,b", ","), " ", tokenize("x", ",")); exit() }""",
    "3 50 a mine\n")
# Macros: those of the script do not belong to the library.
run("""@define offsetof(a, b) %( 77 %) @define cast_sizeof(a) %( 78 %) @define this1 %( x %)
    probe begin { @this1 = 1; @this2 = 5; println(@offsetof(1, 2) + x, " ", @this2); exit() }""", "78 5\n")
# argv and argc are the script's arguments, unless it has variables of these names.
run("""probe begin { println(argc, argv[1], argv[2]); exit() }""", "2ab\n", "a", "b")
run("""probe begin { println(argc, argv_1, argv_2, argv[2], "." . argv_3 . argv_32 . ".", 3 in argv); exit() }""",
    "2abb..0\n", "a", "b")
run("""probe begin { if (argv_1 != "") println("given"); foreach (k in argv) println(k, argv[k]); exit() }""",
    "given\n1x\n2b\n4z\n", "-G", "argv_1=x", "-G", "argv_4=z", "a", "b")
run("""probe begin { println(argv_1, argv_32, argv[33]); exit() }""", "x0x31x32\n", *[f"x{i}" for i in range(33)])
run("""probe begin { argv_1 = 5; println(argv_1, argc); exit() }""", "51\n", "a")
run("""probe begin { argv = 5; argc = 6; argv++; println(argv, argc); exit() } probe end { println(argc) }""", "66\n1\n", "a")
run("""function f(argv) { return argv + 1 } probe begin { foreach (k in argv) println(k, argv[k]); println(f(1)); exit() }""",
    "1x\n2\n", "x")
run("""probe begin { delete argv; println(argc, 1 in argv); exit() }""", "10\n", "x")
run("""global argc = 3, argv probe begin { argv["k"] = 1; println(argc, "k" in argv); exit() }""", "31\n", "x")
# A folder of one's own: its functions neither see the script's names, and the script sees its globals.
folder = temporary_directory()
(folder / "own.stp").write_text("""global shared = 1  function bump() { n = 10; shared += n; return shared }
@define twice(x) %( (2 * @x) %)  function own() { total = 1; return @twice(total) }""")
run("""global n = 3, total = 4 @define twice(x) %( 0 %) probe begin { println(bump(), " ", n, " ", own(), " ", total, " ", """
    """shared++, shared); exit() }""",
    "11 3 2 4 1112\n", "-I", folder)
# Functions that are meant for scripts: the library calls the script's.
run("""global now function qs_time:long () { return now }
    probe begin { qs_wait("q") now = 100 qs_run("q") now = 400 qs_done("q")
      println(qsq_service_time("q", 1), " ", qs_time()) exit() }""", "300 400\n")
run("""function qs_time:long () { next } probe begin { println(qs_time() > 1000000000000000) exit() }""", "1\n")
