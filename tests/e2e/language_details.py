# Details of the language that SystemTap's manual and reference give, which existing scripts rely on.
# variants: histograms settings variables pretty places
from spiletest import *

MASKED = ["-c", program("masked")]


def prints(script, out, *arguments, status=0, err_match=None):
    spile(*arguments, "-e", script).expect(status=status, out=out, err_match=err_match)


def probes(script, out, *arguments):
    """What a script prints about the program `masked`, whose own line is the last one."""
    lines = spile(*arguments, "-e", script, *MASKED).expect(status=0).out.splitlines(True)
    expect("".join(line for line in lines if not line.startswith("sum ")), out, script)


if VARIANT == "histograms":
    fill = "global s probe begin { s <<< 1 s <<< 1000 "
    # Up to two empty rows stand at both ends; N of them beside a filled one are shown, and more are a tilde.
    tildes = {"-DHIST_ELISION=0": (2, 2), "-DHIST_ELISION=1": (1, 6), "-DHIST_ELISION=2": (1, 9), "-DHIST_ELISION=-1": (0, 13)}
    for option, (gaps, rows) in tildes.items():
        out = spile(option, "-e", fill + "print(@hist_log(s)) exit() }").expect(status=0).out
        expect((option, out.count("~"), out.count("|") - 1), (option, gaps, rows), out)
    for make, end in [("sprint", ""), ("sprintln", "\n")]:
        out = spile("-DMAXSTRINGLEN=4096", "-e", fill + f"print(@hist_log(s)) print({make}(@hist_log(s))) exit() }}").expect(
            status=0).out
        expect(out[len(out) // 2:] if not end else out, out[:len(out) // 2] if not end else out, make)
        expect(out.count("value |"), 2, make)
    prints(fill + 'println(64 in @hist_log(s), " ", 128 in @hist_log(s), " ", [-1] in @hist_log(s)) exit() }', "1 0 0\n")
    spile("-e", "global s probe begin { s <<< 0 s <<< 1 s <<< 1 print(@hist_linear(s, 0, 0, 1)) exit() }").expect(
        status=0, out_match=r"\n +0 \|@ +1\n +>0 \|@@ +2\n")
    prints("global s probe begin { s <<< 0 print(@hist_linear(s, 1, 0, 1)) exit() }", "", status=1,
           err_match="lower bound is above the upper one")
    prints('global t probe begin { if (0) t <<< 1; println(3 in @hist_linear(t, 0, 10, 1)); '
           'println(@hist_linear(t, 0, 10, 1)[5]) }', "0\n",
           status=1, err_match="empty aggregate")

if VARIANT == "settings":
    prints("probe begin { println(1) exit() }", "1\n", "-G", "nothing=3",
           err_match="warning: -G nothing=3: the script has no global")
    prints("probe begin { println(argc) exit() }", "7\n", "-G", "argc=7")
    prints("function f:long() %{ STAP_RETVALUE = ANSWER + 1; %} probe begin { println(f()) exit() }", "42\n", "-g", "-D",
           "ANSWER=41")
    prints("@define min(a, b) %( (@a < @b ? @a : @b) %) probe begin { println(@min(4, 3)) exit() }", "3\n",
           err_match="warning: this macro replaces")
    prints('probe begin { printf("%hd %hhx %lld %zu\\n", 1, 255, 3, 4) exit() }', "1 ff 3 4\n")
    prints("global a[3000000] probe begin { a[7] = 1 println(a[7]) exit() }", "1\n")
    prints("probe v = begin { x = 1 }, { println(@probewrite(x)) } probe v { println(x) } probe v { x = 2 } "
           "probe begin(1) { exit() }",
           "1\n0\n1\n", "-w")
    expect_match("^oneshot = ", spile("--dump-probe-aliases").expect(status=0).out, "aliases")
    folder = temporary_directory()
    (folder / "mine.stp").write_text('function mine() { return 5 }\n')
    os.environ["SYSTEMTAP_TAPSET"] = str(folder)
    prints("probe begin { println(mine(), strlen(execname()) > 0) exit() }", "51\n")

if VARIANT == "variables":
    probes('probe process.function("by_node") { p = $p println((p)[1]->value, " ", (p)->next->value, " ", &(p) == p, " ", '
           '&(p)[1] - p) }', "3 2 1 16\n")
    probes('function same(x) { return x } probe process.function("by_node") { println(same($p)->value, " ", '
           '(same($p))[1]->value) }', "1 3\n")
    # The same of what a call, an element of an array and @entry give.
    probes('global a function same(x) { return x } probe process.function("by_node") { a[1] = $p println(same($p)[1]->value, " "'
           ', a[1][0]->value, a[1][1]->value, " ", a[1]->next->value, " ", & same($p)[1] - $p, " ", & a[1]->next->value - $p) }',
           "3 13 2 16 32\n")
    probes('probe process.function("by_node").return { println(@entry($p)[0]->value, @entry($p)[1]->value) }', "13\n")
    spile("-e", "global a probe begin { a[1] = 5 println(a[1][2]) exit() }").expect(
        status=1, err_match=r"pointer of known type.*\n(.*\n)*.*separated by commas: a\[k1, k2\]")
    probes('probe process.function("by_node").return { println(@entry($$parms) == @entry($$vars), " ", strlen(@entry($$vars)) > '
           '8, " ", @entry($n)) }', "1 1 5\n")
    probes('probe process.function("by_node") { println($kGreen, " ", @enum("kBlue"), " ", @enum("Mode::kOn"), " ", '
           '@enum("kRed", "masked")) }', "5 -2 200 0\n")
    probes('global n function shown(v) { return @enumname(v, "Color", "masked") } '
           'probe process.function("by_node") { println(@enumname(5, "Color"), " ", @enumname("Mode", 200), " ", @enumname(n++ - '
           '2, "enum Color"), " ", shown(0), " ", shown(-3), " ", n) }', "kGreen kOn kBlue kRed -3 1\n")
    probes('probe process.function("by_node") { println(@enum_name(5, "Color"), " ", @sizeof("int"), " ", @sizeof("Node"), " ", '
           '@sizeof($p)) }', "kGreen 4 16 8\n")
    for wrong, why in [("1", "must be a variable"), ("$p", "not an enumeration"), ('1, "Colour"', "Colour"),
                       ('1, "Base"', "not an enumeration"), ("1, 2", "needs a value"), ('"a", "b"', "needs a value")]:
        spile("-e", f'probe process.function("by_node") {{ println(@enumname({wrong})) }}',
              *MASKED).expect(status=1, err_match=why)
    spile("-e", 'probe process.function("by_node") { println(@enum("kNone")) }',
          *MASKED).expect(status=1, err_match="has a constant 'kNone'")
    probes('probe process.function("by_node") { println(probemod(), " ", register("ah") == ((register("rax") >> 8 & 255) ^ 128) '
           '- 128, " ", register("rdi") == $p, " ", u_register("di") == ($p & 0xffff), " ", u_register("d" . "i") == '
           '($p & 0xffff)) }', "masked 1 1 1 1\n")

if VARIANT == "pretty":
    shown = spile("-e", 'probe process.function("by_reference") { println($d$) println($m$) println($$parms$) }',
                  *MASKED).expect(status=0).out
    for part in ["{.id=7, .masked=2", ".letter='x'", ".wide='W'", ".wider='é'", '.quoted="he\\"y\\n"',
                 '.text="tx\\t"', ".bad=<0x123: unreadable>",
                 ".null=NULL"]:
        expect_true(part in shown, f"{part} in {shown}")
    expect_match(r"^&1$", shown, "a reference")

if VARIANT == "places":
    probes('global n probe process.function("work").label("special") { n++ } probe end { println(n) }', "2\n")
    probes('global n probe process.statement("work@masked.cpp+9") { n++ } probe end { println(n) }', "2\n")
    linked = temporary_directory() / "libc-link.so"
    for path in ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6"]:
        out = spile("-e", f'global n probe process.library("{path}").function("printf") {{ n++ }} probe end {{ println(n) }}',
                    *MASKED)
        out.expect(status=0, out_match="^1$")
    linked.symlink_to("/lib/x86_64-linux-gnu/libc.so.6")
    spile("-e", f'global n probe process.library("{linked}").function("printf") {{ n++ }} probe end {{ println(n) }}',
          *MASKED).expect(out_match="^1$")
