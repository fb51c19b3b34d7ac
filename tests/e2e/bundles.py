# A bundle runs a script where there is no debug information, as the script itself ran where there was; another build is noticed,
# damage is an error.
from spiletest import *

# The small runner has no compiler in it, neither linked to it nor inside. (Four bytes of machine code may be "LLVM".)
runner = (BUILD / "bin/spile-run").read_bytes()
expect([name for name in (b"libLLVM", b"LLVM ERROR", b"_ZN4llvm") if name in runner], [], "spile-run is linked without LLVM")

folder = temporary_directory()
source = folder / "shop.c"
source.write_text("""#include <stdio.h>
#include <stdlib.h>
struct item { int price; };
__attribute__((noinline)) int price_of(struct item* item, int count) { return item->price * count; }
int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 0; i < atoi(argv[1]); i++) {
    struct item item = {i};
    sum += price_of(&item, 3);
  }
  printf("%d\\n", sum);
}
""")
shop = folder / "shop"
subprocess.run(["gcc", "-g", "-O1", "-o", shop, source], check=True)
script = folder / "shop.stp"
script.write_text("""global n, t, calls
probe begin { println("begin") }
probe process("%s").function("price_of") { n++; calls[$count, execname()]++;
  if (n == 5) printf("%%s %%d %%s\\n", ppfunc(), $item->price, $$parms$) }
probe process("%s").function("price_of").return { t <<< $return }
probe timer.s(100) { println("never") }
probe end { foreach ([c, e] in calls) printf("%%d %%s %%d\\n", c, e, calls[c, e]); printf("%%d calls, sum %%d\\n", n, @sum(t));
  print(@hist_log(t)) }
""" % (shop, shop))
bundle = str(folder / "shop.spile")
spile("-p4", "-o", bundle, str(script), "-c", f"{shop} 1").expect(status=0, out="", err="")
plain = spile(str(script), "-c", f"{shop} 1000").expect(status=0, err="").out
expect_match(r"price_of 4 item=\{\.price=4\} count=3\n", plain)
expect_match(r"1000 calls, sum 1498500\n", plain)

# No debug information, no symbols, another path: the build-id says that it is the same program.
there = folder / "there"
there.mkdir()
subprocess.run(["strip", "-o", there / "renamed", shop], check=True)
shop.unlink()
expect(spile(bundle, "-c", f"{there}/renamed 1000").expect(status=0, err="").out.replace("renamed", "shop"), plain)

# A running process; an ordinary user's, with a bundle that root made.
target = start(str(there / "renamed"), "1000000000")
running = spile("-v", bundle, "-x", str(target.pid), "-T", "1").expect(status=0)
expect_match(r"\d+ calls, sum", running.out)
expect_true("Pass 2" not in running.err and "Armed 1 of 1 sites" in running.err, f"no other pass has run: {running.err}")
target.kill()

# Another build: both identities, and the script compiled again where that is possible.
subprocess.run(["gcc", "-g", "-O0", "-o", shop, source], check=True)
again = spile(bundle, "-c", f"{shop} 1000").expect(status=0)
expect_match(r"another build than the bundle was made for: build-id [0-9a-f]+ here, build-id [0-9a-f]+ there; "
             r"the bundle's script is compiled again", again.err)
expect(again.out, plain)
subprocess.run(["strip", shop], check=True)
spile(bundle, "-c", f"{shop} 1000").expect(status=1, err_match="another build than the bundle was made for")

# Another program under another name, while the bundle's own lies where it was. A bundle that names a file goes on waiting for it.
own, other, own_bundle, named_bundle = (folder / name for name in ("own", "other", "own.spile", "named.spile"))
subprocess.run(["gcc", "-g", "-O1", "-o", own, source], check=True)
subprocess.run(["gcc", "-g", "-O0", "-o", other, source], check=True)
count = 'global n probe process%s.function("price_of") { n++ } probe end { printf("%%d calls\\n", n) }'
spile("-p4", "-o", str(own_bundle), "-e", count % "", "-c", f"{own} 1000").expect(status=0)
spile("-p4", "-o", str(named_bundle), "-e", count % f'("{own}")', "-c", f"{own} 1000").expect(status=0)
expect_match(r"^1000 calls$", spile(own_bundle, "-c", f"{own} 1000").expect(status=0, err="").out)
elsewhere = spile(own_bundle, "-c", f"{other} 1000").expect(
    status=0, err_match=r"other is another program than the bundle was made for, \S+own: build-id [0-9a-f]+ here, "
                        r"build-id [0-9a-f]+ there; the bundle's script is compiled again")
expect_match(r"^1000 calls$", elsewhere.out)
expect_match(r"^1000 calls$", spile(named_bundle, "-c", f"sh -c '{own} 1000; true'").expect(status=0, err="").out)

# Mistakes.
spile(bundle).expect(status=1, err_match="probes the processes of -x or -c(.|\n)*hint: give either")
for option in (["-D", "MAXACTION=5"], ["-g"], ["-G", "n=1"], ["-E", "probe never {}"], ["-s", "8"]):
    spile(bundle, *option, "-c", f"{there}/renamed 1").expect(status=1, err_match="has no meaning for a bundle")
spile(bundle, "argument", "-c", f"{there}/renamed 1").expect(status=1, err_match="an argument of the script has no meaning")
bytes_of = pathlib.Path(bundle).read_bytes()
for damaged, reason in ((bytes_of[:-7], "is damaged"), (bytes_of[:200] + b"x" + bytes_of[201:], "is damaged"),
                        (bytes_of[:8] + b"\x63" + bytes_of[9:], "has version 99 of bundles")):
    (folder / "damaged").write_bytes(damaged)
    spile(str(folder / "damaged"), "-c", f"{there}/renamed 1").expect(status=1, out="", err_match=reason)
if os.geteuid() == 0:
    (folder / "theirs").write_bytes(bytes_of)
    os.chown(folder / "theirs", 65534, 65534)
    spile(str(folder / "theirs"), "-c", f"{there}/renamed 1").expect(status=1, err_match="belongs to user 65534")
spile("-p4", "-o", str(folder / "missing/x.spile"), "-e",
      "probe begin {}").expect(status=1, err_match="write .*missing/x.spile: No such file")
spile("-p4", "-o", str(folder / "trace.spile"), "trace", "main", "-c",
      program("calls")).expect(status=1, err_match="spile trace can.t be a bundle")

# Handlers in the kernel.
kernel = str(folder / "kernel.spile")
made = spile("-p4", "-o", kernel, "-e", 'global n probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) '
                                        'n++ } probe end { println(n) }', "-c", "true")
if made.status == 0 and os.geteuid() == 0:
    calls = folder / "calls"
    (folder / "calls.c").write_text("#include <unistd.h>\nint main(void) { for (int i = 0; i < 700; i++) getppid(); }\n")
    subprocess.run(["gcc", "-o", calls, folder / "calls.c"], check=True)
    counted = spile(kernel, "-c", str(calls))
    if "Operation not permitted" not in counted.err:
        counted.expect(status=0, out="700\n", err="")
    # In processes and in the kernel, which finds stacks of processes in memory beyond that of their handlers.
    both = str(folder / "both.spile")
    made = spile("-p4", "-o", both, "-e", f'global n, k, s probe process("{calls}").function("main") {{ n++; k++ }} '
                                          f'probe kernel.trace("syscalls:sys_enter_getppid") '
                 '{ if (pid() == target()) { k++; s = ubacktrace() } } probe end { println(n, " ", k, " ", strlen(s) > 0) }',
                 "-c", str(calls))
    if made.status == 0 and "Operation not permitted" not in counted.err:
        spile(both, "-c", str(calls)).expect(status=0, out="1 701 1\n", err="")
