# Macros of the library, several modules in @var and @cast, and types that go by their names alone.
import http.client

from spiletest import *

values = program("values")


def begin(body, out, *options, before=""):
    spile("-e", f"{before}\nprobe begin {{ {body}\nexit() }}", *options).expect(out=out, status=0)


def probed(body, wanted, point='process.function("visit")', before=""):
    expect(spile("-e", f"{before} probe {point} {{ {body}\n exit() }}", "-o", "/dev/stderr", "-c", values).expect(status=0).err, wanted)


# Aggregates as the ones that no probe reads are printed, without their names; arrays with keys of several types in one probe.
begin("""s <<< 3 s <<< 6 a["x"] <<< 1 b[7] <<< 1 b[8] <<< 2 b[8] <<< 4 c["k", 2] <<< 5 d[1, 2, 3, 4, 5, 6, 7, 8, "n"] <<< 9
  @prints(s) @prints(none) if (0) @prints1(a) else @prints1(b) @prints1(a) @prints2(c) @prints9(d) if (0) none <<< 1""",
      "@count=2 @min=3 @max=6 @sum=9 @avg=4\n[8] @count=2 @min=2 @max=4 @sum=6 @avg=3\n[7] @count=1 @min=1 @max=1 @sum=1 @avg=1\n"
      "[x] @count=1 @min=1 @max=1 @sum=1 @avg=1\n[k,2] @count=1 @min=5 @max=5 @sum=5 @avg=5\n"
      "[1,2,3,4,5,6,7,8,n] @count=1 @min=9 @max=9 @sum=9 @avg=9\n", before="global s, none, a, b, c, d")
for count in range(3, 9):
    keys = ", ".join(map(str, range(count)))
    begin(f"a[{keys}] <<< 1 @prints{count}(a)", f"[{keys.replace(' ', '')}] @count=1 @min=1 @max=1 @sum=1 @avg=1\n",
          before="global a")
begin("println(@MAXSTRINGLEN)", "512\n")
begin("println(@MAXSTRINGLEN)", "100\n", "-D", "MAXSTRINGLEN=100")
begin('x = 1; @try_assign(x, 5 / (x - 1), 7); println(x); @try_assign(x, x + 1, 0); println(x)', "7\n8\n")
# A value that a thread keeps from the entry to the return.
expect(spile("-e", """probe process.function("visit") { @this1 = $a; @this8 = "text" . sprint($a) }
    probe process.function("visit").return { println(@this1, @this8) }""", "-o", "/dev/stderr", "-c", values).err, "0text0\n1text1\n2text2\n")
# Sizes, offsets and whether there is something.
probed('println(@cast_sizeof("int"), @cast_sizeof("struct inner"), " ", @offsetof("struct node", in), " ", @offsetof("struct inner", name))', "412 8 4\n")
probed('''p = &$n->in->name; println(@container_of(p, "struct inner", name)->x, " ", @container_of(&$n->in, "struct node", in) == $n,
  " ", @container_of(&$n->in, "struct node", in)->label$, " ", @module_container_of(p, "values", "struct inner", name)->x)''',
       '42 1 "hello" 42\n')
probed('''println(@type_defined("struct inner"), @type_defined("struct none"), @type_member_defined("struct node", next),
  @type_member_defined("struct node", nothing), @type_member_defined("struct node", flags), @type_member_defined("struct node", in))''', "101011\n")
module = f'"{values}"'
both = f'"/none/such:{values}"'
probed(f'''println(@cast_module_sizeof({module}, "struct inner"), @module_type_defined({module}, "struct none"), @module_type_defined({both}, "struct node"),
  @module_type_member_defined({module}, "struct node", next), @module_type_member_defined({module}, "struct node", nothing))''', "120110\n")
# Several modules: the first that has it.
probed(f'println(@var("counter", {both}), " ", @cast($n, "struct node", {both})->in->x, " ", @cast($n, "node", {module})->in->x)', "7 42 42\n")
probed('println(@cast(&$n->value, "timeval", "<sys/time.h>")->tv_sec & 0xffffffff, " ", @cast($n, "struct node") == $n, " ", @cast($n, "node")->in->x)',
       "10 1 42\n")
expect(spile("-e", f'function f(p) {{ return @cast(p, "node", {both})->in->x }} probe process.function("visit") {{ println(f($n), @var("counter@values.c", "values:libc.so.6")); exit() }}',
             "-o", "/dev/stderr", "-c", values).err, "427\n")
# Metrics: the labels as they are, made by functions, and with the functions' own quotes. Macros without parameters need no ().
session = Session("-v", "--http=0", "-e", r"""global a, b, t, q, r probe begin { t[5] = "2.25"; q["\"w\""] = 1; r["'x'", "\"y\\\"z\""] = 2; a["x\"y", 2] = 3; b["z"] = 8; json_add_numeric_metric("n", "", "") }
function twice(n) { return n * 2 } function loud(s) { return s . "!" } function quoted(s) { return "'" . s . "'" }
function plus(n) { return n + 1 } function half(n) { return sprintf("%d.5", n) }
probe prometheus { @prometheus_dump_array2(a, "one", "k", "l") @prometheus_dump_array2_map(a, "two", "k", "l", plus, loud, twice)
  @prometheus_dump_array1_map_unquoted(b, "three", "k", half, quoted)
  @prometheus_dump_array1(t, "four", "k")
  @prometheus_dump_array1_unquoted(q, "five", "k") @prometheus_dump_array2_unquoted(r, "six", "k", "l") }
probe json_data { @json_output_data_start @json_output_numeric_value("n", 5) @json_output_data_end }""")
wait_until(lambda: "files are at" in session.read(session.err) or session.process.poll() is not None, 60, "the server",
           lambda: session.read(session.err))
connection = http.client.HTTPConnection("127.0.0.1", int(re.search(r"at http://127\.0\.0\.1:(\d+)/", session.read(session.err))[1]), timeout=300)
connection.request("GET", "/prometheus")
expect(connection.getresponse().read().decode(), 'one{k="x\\"y",l="2"} 3\ntwo{k="x\\"y!",l="4"} 4\nthree{k=\'z\'} 8.5\nfour{k="5"} 2.25\n'
       'five{k="w"} 1\nsix{k=\'x\',l="y\\"z"} 2\n')
session.stop()
