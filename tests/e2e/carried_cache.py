# Exported answers carried into a root folder without debug information: probes, values, inlined calls, lists and verbs are as
# they were.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root, for chroot(2) and to mount")
folder = temporary_directory()
source = folder / "shop.cc"
source.write_text("""#include <cstdio>
namespace shop {
struct Item { int price; const char* name; };
struct Till { long sum = 0; __attribute__((always_inline)) void take(const Item& item) { sum += item.price; } };
__attribute__((noinline)) long price_of(const Item* item, int count) { Till till; for (int i = 0; i < count; ++i) till.take(*item); asm volatile("" ::: "memory"); return till.sum; }
}
int main() { shop::Item item{7, "pear"}; return shop::price_of(&item, 3) != 21; }
""")
shop = folder / "shop"
subprocess.run(["g++", "-g", "-O1", "-Wl,--build-id", "-o", shop, source], check=True)
script = ('probe process.function("shop::price_of") { println($$parms$, " ", user_string($item->name)) } probe process.function("shop::price_of").return { println($return) } '
          'probe process.function("shop::Till::take").inline { println("take ", ppfunc()) }')
os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
os.environ.pop("DEBUGINFOD_URLS", None)
values = re.sub("0x[0-9a-f]+", "ADDRESS", spile("-e", script, "-c", str(shop)).expect(status=0, err="").out)
listed = spile("-L", f'process("{shop}").function("shop::*")').expect(status=0, err="").out
spile("cache", "add", shop).expect(status=0)
spile("cache", "export", folder / "archive", shop).expect(status=0)
there = folder / "there"
there.mkdir()
subprocess.run(["strip", "-o", there / "shop", shop], check=True)
shutil.copy(folder / "archive", there)
inside = f"""set -e
for f in usr lib lib64 bin dev proc tmp; do [ -d /$f ] && mkdir -p {there}/$f; done
for f in usr lib lib64 bin dev; do mount --rbind /$f {there}/$f; done
mkdir -p "{there}{ROOT}"; mount --bind "{ROOT}" "{there}{ROOT}"
mount -t proc proc {there}/proc
[ ! -d /usr/lib/debug ] || mount -t tmpfs none {there}/usr/lib/debug
cp $1 {there}/script.stp
exec chroot {there} /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp XDG_CACHE_HOME=/tmp/cache sh -c '
  spile="{SPILE}"
  "$spile" cache import /archive >&2 && "$spile" /script.stp -c /shop && echo -- &&
  "$spile" -L "process(\\"/shop\\").function(\\"shop::*\\")" && echo -- && "$spile" vars /shop shop::price_of'
"""
(folder / "script.stp").write_text(script)
run = subprocess.run(["unshare", "-m", "sh", "-c", inside, "sh", folder / "script.stp"], capture_output=True, text=True, timeout=300)
if run.returncode == 32 or "permission denied" in run.stderr:
    skip("file systems can't be mounted here")
expect((run.returncode, re.sub(r": \d+ answers about 1 file", "", run.stderr)), (0, "/archive\n"))
there_values, there_listed, variables = run.stdout.split("--\n")
expect(re.sub("0x[0-9a-f]+", "ADDRESS", there_values), values, "values there")
expect_true("take shop::Till::take" in values and "21" in values and "pear" in values, values)
expect(there_listed, listed.replace(f'"{shop}"', '"/shop"'), "-L there")
expect_match(r"\$?item.*const", variables, "spile vars there")
