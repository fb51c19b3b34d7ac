# The tapset library: which files of a folder count, which are parsed, whose definition wins, where errors are shown.
from spiletest import *

folder = temporary_directory()


def write(name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


write("a.stp", """private global calls
function one:long (x:long) { calls++; return two(x) + @TEN }
probe hello = begin { name = "hello" }
probe end { printf("end %d\\n", calls) }
""")
write("b.stp", "function two:long (x:long) { return x * 2 }\n")
write("broken.stp", "function fine() { return 1 }\nfunction broken( {\n")
write("wrong.stp", 'function wrong:long () { return "text" }\n')
write("sub/c.stp", "function below:long () { return 1 }\n")
write("i386/d.stp", "function machine:long () { return 1 }\n")
write("x86_64/d.stp", "function machine:long () { return 2 }\n")
write("1.2/e.stp", "function machine:long () { return 3 }\n")
write("m.stpm", "@define TEN %( (@FIVE + @FIVE) %)\n")
write("n.stpm", "@define FIVE %( 5 %)\n")
write("unused.stpm", "@define BROKEN %( \n")


def run(script, **wanted):
    spile("-I", folder, "-e", script).expect(**wanted)


run('probe hello { printdln(" ", name, one(2), below(), machine(), @FIVE); exit() }', out="hello 14 1 2 5\nend 1\n")
# What the user defines wins in the user's script, also over what the runtime has; the library has its own.
run("function two(x) { return x } probe begin { println(one(2), two(2)); exit() }", out="142\nend 1\n")
run("function below() { return 7 } function strlen(s) { return below() . s } probe begin { println(strlen(\"x\")) exit() }",
    status=1, err_match="type")
run('function strlen(s) { return 99 } probe begin { println(strlen("x")) exit() }', out="99\n")
# Errors stand where they are; files that are not needed may be broken.
run("probe begin { println(fine()) }", status=1, out="", err_match=r"broken.stp:2:18: error: expected the name")
run("probe begin { println(wrong()) }", status=1, out="", err_match=r"wrong.stp:1:\d+: error:")
run("probe begin { println(@BROKEN) }", status=1, out="", err_match=r"unused.stpm:1:")
run("probe begin { println(on(2)) }", status=1, out="", err_match=r"<input>:1:23: error: unresolved function 'on'")
spile("-I", folder / "none", "-e", "probe begin { exit() }").expect(status=1, err_match="-I .*none: not a directory")
# What a folder declares replaces what the installed library declares, there too, whichever file is read first.
own = temporary_directory()
(own / "own.stp").write_text("""function errno_str:string (n:long) { return "mine" } function qs_time:long () { return 42 }
function text_str:string (s:string) { if (s != "x") next; return "own" } probe oneshot = begin { println("own oneshot") exit() }
global InReceives = 5\n""")
(own / "own.stpm").write_text("@define offsetof(a, b) %( 55 %)\n")
spile("-I", own, "-e", """probe oneshot { @this1 = 5 qs_wait("q") println(@this1, @offsetof(1, 2), errno_str(2), qs_time(),
  qsq_utilization("q", 1), text_str("x"), text_str("\\n"), InReceives) }""").expect(
      status=0, out="own oneshot\n555mine420own\\n5\n")
spile("-I", own, "-I", folder, "-e", "probe begin { println(@FIVE, one(2)) exit() }").expect(status=0, out="514\nend 1\n")
(own / "again.stpm").write_text("@define offsetof(a, b) %( 56 %)\n")
spile("-I", own, "-e", "probe begin { println(@offsetof(1, 2)) exit() }").expect(
    status=1, err_match="macro @offsetof is defined twice")
# Only what is needed is parsed.
spile("-v", "-I", folder, "-e", "probe begin { println(below()) exit() }").expect(err_match="and 1 library scripts")
spile("-v", "-I", folder, "-e", 'probe begin { println(strlen("x")) exit() }').expect(err_match="and 0 library scripts")
# Beside a copy of the program, others may have placed a library: it is of no use to them, and that there is none is said.
alone = temporary_directory() / "bin"
alone.mkdir()
planted = alone.parent / "share/spile/tapset"
planted.mkdir(parents=True)
(planted / "planted.stp").write_text('function planted() { return 1 }\n')
shutil.copy(SPILE, alone / "spile")
copy = lambda text: subprocess.run([alone / "spile", "-e", text], capture_output=True, text=True)
expect(copy("probe begin { println(planted()) exit() }").stdout, "1\n")
planted.chmod(0o777)
refused = copy("probe begin { println(planted()) exit() }")
expect((refused.returncode, refused.stdout), (1, ""))
expect_match("warning: the tapset library is missing", refused.stderr)
