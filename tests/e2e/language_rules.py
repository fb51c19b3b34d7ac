# Rules of the language that scripts rely on, as SystemTap's manual and language reference say them.
from spiletest import *

values, calls = program("values"), program("calls")


def begin(body, out, *options, before="", **more):
    spile("-e", f"{before}\nprobe begin {{ {body}\nexit() }}", *options, **more).expect(out=out, status=0)


def probed(script, wanted, command, *options):
    expect(spile(*options, "-e", script, "-o", "/dev/stderr", "-c", command).expect(status=0).err, wanted)


# A program is looked for in PATH, then in the current directory.
directory = temporary_directory()
shutil.copy(calls, directory / "a.out")
probed_here = spile("-e", 'probe process("a.out").function("foo") { n++; println(n) } global n', "-c", "./a.out 2", "-o",
                    "/dev/stderr", cwd=directory)
probed_here.expect(err="1\n2\n", status=0)
spile("-l", 'process("b.out").function("foo")', cwd=directory).expect(status=1,
                                                                      err_match="not found in PATH, nor in the current directory")
spile("funcs", "1234", "foo", cwd=directory).expect(status=1, err_match="hint: -x 1234 names a process by its number")
# MAXACTION: a turn of `for` costs its body and its condition; with an empty body it is one
# statement. No try catches that the limit is reached, neither around a loop nor around the function that has it.
begin("for (i = 0; i < 4500; i++) x += i; println(x)", "10122750\n")
begin("for (i = 0; i < 9800; i++) {} for (i = 0; i < 90; i++) ; println(i)", "90\n")
for endless in ["for (i = 0; i < 6000; i++) x += i println(x)", "println(f())", "println(g())"]:
    spile("-e", """function f() { while (1) x++ return x } function g() { try { return f() } catch { println("in g") } return 1 }
      probe begin { try { %s } catch (m) { println(m) } println("behind") }""" % endless).expect(
          status=1, out="", err_match="ERROR: MAXACTION exceeded at <input>:")
begin('try { error("x") } catch (m) { println(m) }', "x\n")
begin("while (i < 3300) { i++; x += i } println(i)", "3300\n")
# What is never read is shown when the script ends: numbers in decimal, pointers in hexadecimal.
spile("-e", 'global n, s, a, t probe begin { n = 31; s = "x"; a["k", -2] = -3; t <<< 4; t <<< 9; exit() }').expect(
    out='n=31\ns="x"\na["k",-2]=-3\nt @count=2 @min=4 @max=9 @sum=13 @avg=6\n')
shown = spile("-e",
              f'global p, q, by, plain probe process.function("visit") {{ p = $n; q = &$n->value; by[$n] = $a; plain = $a }}',
              "-c", values, "-o", "/dev/stderr").err
for name in ["p=0x", "q=0x", r"by\[0x[0-9a-f]+\]=2$", "plain=2$"]:
    expect_match(f"^{name}", shown)
# Variables of the function that has the mark, beside the mark's own.
probed('probe process.mark("step") { println($arg1, " ", $local, " ", user_string($n->label), " ", @defined($nothing)); exit() }',
       "-3 3 hello 0\n", program("values_O0"))
expect_match(r"a=0x0 .*local=0x3", spile("-e", 'probe process.mark("step") { println($$locals); exit() }', "-c",
                                         program("values_O0"), "-o", "/dev/stderr").err)
spile("-p2", "-e", 'probe process.mark("step") { println($nothing) }', "-c",
      values).expect(status=1, err_match=r"mark 'step' has \$arg1 to \$arg3")
# The operand of a ++ before it can't be the operand of one behind it.
begin("a = 5; b = 6\n--a\n++b\n println(a, b); --a ++b; println(a, b)", "47\n38\n")
# Conditions: the running kernel's configuration; numbers are compared as numbers.
config = "/proc/config.gz" if os.path.exists("/proc/config.gz") else f"/boot/config-{os.uname().release}"
if os.path.exists(config):
    import gzip
    text = (gzip.open if config.endswith("gz") else open)(config, "rt").read()
    cpus = re.search(r"^CONFIG_NR_CPUS=(\d+)$", text, re.M)
    smp = "y" if re.search("^CONFIG_SMP=y$", text, re.M) else "n"
    begin('println(%( CONFIG_SMP == "y" %? "y" %: "n" %), %( CONFIG_SMP == "[ym]" %? "y" %: "n" %), %( CONFIG_NONE_SUCH == "y" '
          '%? 1 %: 0 %))',
          f"{smp}{smp}0\n")
    if cpus:
        n = int(cpus[1])
        begin(f'println(%( CONFIG_NR_CPUS == {n} %? 1 %: 0 %), %( CONFIG_NR_CPUS > 1{n} %? 1 %: 0 %), %( CONFIG_NR_CPUS < "1{n}" '
              f'%? 1 %: 0 %), %( CONFIG_NR_CPUS == "{n}" %? 1 %: 0 %), %( CONFIG_NR_CPUS != {hex(n)} '
              f'%? 1 %: 0 %), %( CONFIG_NONE_SUCH > 0 %? 1 %: 0 %))', "101100\n")
begin('println(%( 10 > 9 %? 1 %: 0 %), %( $1 > 9 %? 1 %: 0 %))', "11\n", "10")
# runtime, as SystemTap's scripts know it.
which = 'println(%( runtime == "kernel" %? "kernel" %: %( runtime == "dyninst" %? "dyninst" %: "?" %) %))'
begin(which, "kernel\n")
spile("-p1", "--runtime=kernel", "-e", f"probe begin {{ {which} }}").expect(out_match='"kernel"', status=0)
begin(which, "dyninst\n", "--runtime=dyninst")
expect(spile("-e", f"probe begin {{ {which} }}", "-c", "true", "-o", "/dev/stderr").err, "dyninst\n")
# -l with -E: aliases of the script.
(directory / "aliases.stp").write_text('probe foo.bar = begin { x = 1 }  probe foo.baz = end { }  probe begin { foo() }  '
                                       'function foo() { }')
spile("-l", "foo.*", "-E", (directory / "aliases.stp").read_text()).expect(out="foo.bar\nfoo.baz\n", status=0)
spile("-L", "foo.bar", "-E", (directory / "aliases.stp").read_text()).expect(out="foo.bar x:long\n", status=0)
spile("-l", "foo.*", "-e", "probe begin {}").expect(status=1, err_match="give it with -E")
# A function that returns nothing is 0 (or an empty string), and its effects stay.
begin('println(1 + 0 * f()); x = f(); println(x); (x) ? f() : g(1); (!x) ? f() : g(2); println(0 && f(), f() && '
      '0, f() - f(), f() == f())',
      "f 1\nf 0\ng1 f f f f f f 0001\n", before='function f() { print("f ") } function g(x) { print("g", x, " ") }')
begin('println("[" . s() . "]"); printf("%s.\\n", s())', "s []\ns .\n", before='function s() { print("s ") }')
begin('try { println(0 * (1 / zero)) } catch (m) { println(m) } println(zero & f(), f() ? 2 : 2)', "division by 0\nf f 02\n",
      before='global zero function f() { print("f ") }')
# NULL, and a variable of that name.
begin('println(NULL == 0, NULL + 1); p = 5; if (p != NULL) println("set")', "11\nset\n")
begin('NULL = 3; println(NULL)', "3\n")
begin('println(NULL)', "4\n", before="global NULL = 4")
