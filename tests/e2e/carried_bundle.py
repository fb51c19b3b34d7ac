# A bundle and spile-run carried into a root folder that has no LLVM, no debug information, no scripts and no compiler: only the
# libraries that spile-run names.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root, for chroot(2) and to mount /proc")
folder = temporary_directory()
source = folder / "shop.c"
source.write_text("""#include <stdio.h>
struct item { int price; };
__attribute__((noinline)) int price_of(struct item* item, int count) { return item->price * count; }
int main(void) { int sum = 0; for (int i = 0; i < 1000; i++) { struct item item = {i}; sum += price_of(&item, 3); } printf("%d\\n", sum); }
""")
shop = folder / "shop"
subprocess.run(["gcc", "-g", "-O1", "-o", shop, source], check=True)
script = ('global n, t probe process("%s").function("price_of") { if (++n == 5) printf("%%s %%d %%s\\n", ppfunc(), $item->price, $$parms$) } '
          'probe process("%s").function("price_of").return { t <<< $return } probe end { printf("%%d calls, sum %%d\\n", n, @sum(t)) }' % (shop, shop))
bundle = folder / "shop.spile"
spile("-p4", "-o", str(bundle), "-e", script, "-c", str(shop)).expect(status=0, err="")
there = folder / "there"
for name in ("proc", "tmp", "dev"):
    (there / name).mkdir(parents=True)
(there / "dev/null").touch()
needed = subprocess.run(["ldd", BUILD / "bin/spile-run", shop], capture_output=True, text=True, check=True).stdout
for library in sorted(set(re.findall(r"(/\S+\.so\S*) \(", needed))):
    target = there / library.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, target)
expect([path.name for path in there.rglob("*LLVM*")], [], "libraries of LLVM there")
shutil.copy(BUILD / "bin/spile-run", there)
shutil.copy(bundle, there)
subprocess.run(["strip", "-o", there / "renamed", shop], check=True)
run = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t proc proc {there}/proc && exec chroot {there} /spile-run /shop.spile -c /renamed"], capture_output=True, text=True, timeout=300)
if "mount" in run.stderr:
    skip("/proc can't be mounted here")
expect((run.returncode, run.stderr), (0, ""))
expect(sorted(run.stdout.splitlines()), sorted(["1498500", "price_of 4 item={.price=4} count=3", "1000 calls, sum 1498500"]))
