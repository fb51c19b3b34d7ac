# funcs, lines, vars and marks say what a program has, as the program's source and the tracer itself know it; --json is JSON
# Lines.
from spiletest import *
import json

folder = temporary_directory()
source = folder / "shop.c"
source.write_text("""struct item { int price; };
static int sold;
int other;

__attribute__((noinline)) int price_of(struct item* item, int count) {
  int total = item->price * count;
  if (total > 100) total -= 10;
  return total;
}
__attribute__((noinline)) int price_again(int count) { sold += count; return sold; }
int main(int argc, char** argv) {
  struct item item = {argc};
  return price_of(&item, 3) + price_again(argc) > 1000;
}
""")
shop = str(folder / "shop")
subprocess.run(["gcc", "-g", "-O0", "-o", shop, str(source)], check=True)


def rows(*words, **options):
    return [json.loads(line) for line in spile("--json", *words, **options).expect(status=0, err="").out.splitlines()]


# Functions: patterns, exclusions, the same as nm; a name that only a library has.
spile("funcs", shop, "price*").expect(status=0, out="price_again\nprice_of\n", err="")
spile("funcs", shop, "price*|main", "!*_again").expect(status=0, out="main\nprice_of\n")
# memcpy, malloc ... of libc are not asked for where the program has a function of that name.
spile("funcs", shop, "m*", "!main").expect(status=1, out="", err_match="all functions that match are left out")
found = rows("funcs", shop, "price_of")[0]
symbol = [line.split() for line in subprocess.run(["nm", "-S", shop], capture_output=True, text=True).stdout.splitlines()
          if line.endswith(" price_of")][0]
expect((int(found["address"], 16), found["size"], found["module"]),
       (int(symbol[0], 16), int(symbol[1], 16), os.path.realpath(shop)))
expect_match(r"price_of +\S*shop.c:5", spile("-v", "funcs", shop, "price_of").expect(status=0).out)
expect_match(r"malloc +/\S+/libc\.so\.6", spile("funcs", shop, "malloc").expect(status=0).out)
expect_match(r"^malloc", spile("funcs", "--lib=libc.so.6", shop, "malloc").expect(status=0).out)
spile("funcs", shop, "nosuch*").expect(status=1, out="", err_match="no function of .*shop and its libraries matches")
spile("funcs", "--lib=libnosuch*", shop).expect(status=1, out="", err_match="no library of .* matches")
spile("funcs").expect(status=1, err_match="no program is given(.|\n)*hint: spile funcs FILE")
spile("funcs", str(folder / "nosuch")).expect(status=1, err_match="No such file")
spile("funcs", shop, "a|").expect(status=1, err_match="empty pattern")

# Lines that can be probed are those that statement() accepts.
shown = spile("lines", shop, "price_of").expect(status=0, err="").out
expect_match(r"^<price_of@\S*shop.c:5-9>\n +5 \*  __attr", shown)
expect_match(r"\n +6 \*    int total = item->price \* count;\n", shown)
probeable = {row["line"] for row in rows("lines", shop, "shop.c") if row["probeable"]}
listed = spile("-l", f'process("{shop}").statement("*@shop.c:*")').expect(status=0).out
expect(probeable, {int(line) for line in re.findall(r":(\d+)\"", listed)}, "lines with code")
# Numbers are lines of the file if any of them is the function's.
for numbers, wanted in ((":4-12", "4-12"), (":7-40", "7-14"), (":1-3", "6-8"), ("+4-5", "9-10"), (":5", "5-5")):
    expect_match(rf"^<price_of@\S*shop.c:{wanted}>\n", spile("lines", shop, f"price_of{numbers}").expect(status=0).out)
expect_match(r"\n +7 \*    if .*\n +\$item \$count \$total\n$", spile("lines", shop, "price_of:7").expect(status=0).out)
spile("lines", shop,
      "shop.c:2-3").expect(status=1, err_match=r"no code on these lines\n  hint: the code of \S+shop.c is on lines \d+ to \d+")
expect(spile("lines", shop, "shop.c:900").expect(status=1, err_match="no code on these lines").out, "")
spile("lines", shop, "nosuch.c:2-3").expect(status=1, err_match="no code of source file 'nosuch.c'")
# A library by its name; its functions have sources only with libc6-dbg.
expect_match(r"^malloc$", spile("funcs", "libc.so.6", "malloc").expect(status=0).out)
spile("vars", "libc.so.6", "no_such_function").expect(status=1,
                                                      err_match="no function 'no_such_function'|has no debug information")
spile("funcs", "libnone.so.7", "malloc").expect(status=1, err_match="nor where the dynamic linker looks for libraries")
spile("lines", shop, "price_off").expect(status=1, err_match="no function 'price_off'(.|\n)*did you mean 'price_of'")
for numbers, wanted in (("+0", "5-5"), (":0", "5-5"), (":0-1", "5-6")):
    expect_match(rf"^<price_of@\S*shop.c:{wanted}>\n", spile("lines", shop, f"price_of{numbers}").expect(status=0).out)
spile("lines", shop, "shop.c:0-3").expect(status=1, err_match="'shop.c:0-3': the lines of a file are counted from 1")
spile("lines", shop, "f:9-2").expect(status=1, err_match="ends before it begins")
moved = folder / "moved"
moved.mkdir()
source.rename(moved / "shop.c")
spile("lines", shop, "price_of").expect(status=0, out_match=r"\n +6 \*\n",
                                        err_match="WARNING: the source file .*shop.c can't be read")
expect(spile(f"--source={moved}", "lines", shop, "price_of").expect(status=0, err="").out, shown)

# Variables: at the entry parameters alone can be read; on a line the locals, too; lines count from the function where it lacks
# them.
at_entry = {row["name"]: row["available"] for row in rows("vars", shop, "price_of")}
expect(at_entry, {"item": True, "count": True, "total": False})
on_line = rows("vars", shop, "price_of:7", "--range")
expect([(row["name"], row["kind"], row["type"], row["available"], row["line"]) for row in on_line],
       [("item", "parameter", "struct item*", True, 7), ("count", "parameter", "int", True, 7),
        ("total", "local", "int", True, 7)])
expect_true(all(first <= 7 <= last for row in on_line for first, last in row["lines"]), f"ranges have line 7: {on_line}")
expect(rows("vars", shop, "price_of:2")[0]["line"], 7, "counted from line 5")
expect(rows("vars", shop, "price_of+2")[0]["line"], 7, "counted from line 5")
expect({row["name"] for row in rows("vars", shop, "price_again", "--globals") if row["kind"] == "global"}, {"sold", "other"})
for verb in ("vars", "lines"):
    spile(verb, shop, "price_of:4000").expect(status=1, out="", err_match="has no code(.|\n)*its code is on lines 5 to 9")
    spile(verb, shop, "price_of@none.c").expect(status=1, out="", err_match="no function 'price_of' of source file 'none.c'(.|\n"
                                                                            ")*spile funcs lists")
spile("vars", shop, "shop.c:7").expect(status=1, err_match="names a file, not a function")

# Of a process: the file that it runs, though it was deleted.
copy = str(folder / "copy")
shutil.copy(program("server"), copy)
process = start(copy, "60", "1")
os.unlink(copy)
names = {row["name"] for row in rows("-x", str(process.pid), "funcs")}
expect_true("main" in names, f"the functions of a deleted program: {sorted(names)[:9]}")

# Marks with their arguments, and lists of points as JSON.
postgres = installed("postgres", "/usr/lib/postgresql/15/bin")
if postgres:
    marks = spile("marks", postgres, "transaction__*").expect(status=0, err="").out
    expect_match(r"^postgresql:transaction__abort \$arg1:u?int32_t$", marks)
    expect([f"{row['provider']}:{row['name']}" for row in rows("marks", postgres, "transaction__*")],
           re.findall(r"^(\S+)", marks, re.M))
spile("marks", shop).expect(status=1, err_match="no SDT marks in .*shop and its libraries")
expect(rows("-L", f'process("{shop}").function("price_again")'),
       [{"point": f'process("{shop}").function("price_again@{source}:10")', "variables": [{"name": "$count", "type": "int"}]}])
expect(rows("-l", f'process("{shop}").function("price_again")'),
       [{"point": f'process("{shop}").function("price_again@{source}:10")'}])

# On a terminal lines end at its edge, whatever characters they have, and none of them moves its cursor.
import fcntl
import pty
import struct
import termios
(folder / "wide.c").write_bytes("int main(void) { /* \033]0;title\007 ü 日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語 */ return 0; "
                                "}\n".encode())
subprocess.run(["gcc", "-g", "-o", folder / "wide", folder / "wide.c"], check=True)
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 70, 0, 0))
    os.execv(SPILE, [str(SPILE), "--color=never", "lines", str(folder / "wide"), "main"])
seen = b""
try:
    while part := os.read(terminal, 4096):
        seen += part
except OSError:  # the terminal's other end is closed
    pass
os.waitpid(child, 0)
shown = seen.decode().splitlines()[1]
expect_match(r"^ +1 \*  int main\(void\) \{ /\* \\033\]0;title\\007 ü 日本語", shown)
expect_true(69 <= sum(2 if c > "\u2e80" else 1 for c in shown) <= 70, f"as wide as the terminal: {shown!r}")
