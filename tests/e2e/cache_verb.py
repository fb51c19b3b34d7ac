# variants: carried kept hostile many
# spile cache: what is remembered of debug information, carried to a machine that has none, bounded, and not believed when it is
# damaged.
# long
import struct

from spiletest import *
import json

directory = temporary_directory()
os.environ.pop("DEBUGINFOD_URLS", None)
SOURCE = """#include <stdio.h>
enum color { RED, GREEN };
struct inner { char name[8]; enum color color; };
struct pair { long a; struct inner* inner; unsigned bits : 3; struct later* later; };
struct later { short s; };
static inline __attribute__((always_inline)) int small(int x) { return x * 3; }
static __attribute__((noinline)) long work(struct pair* p, int number) { __asm__ volatile("" : : "r"(p), "r"(number) : "memory"); return p->a + small(number); }
int main(void) {
  struct later l = { 4 }; struct inner i = { "seven", GREEN }; struct pair p = { 7, &i, 5, &l };
  return work(&p, 5) != 22;
}
"""
(directory / "work.c").write_text(SOURCE)
program_file, bare = directory / "work", directory / "bare"
subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", program_file, directory / "work.c"], check=True)
subprocess.run(["strip", "-o", bare, program_file], check=True)
build_id = re.search("Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", bare], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]
archive = directory / "archive"
READS = 'probe process.function("work") { println($p->a, " ", user_string($p->inner->name), " ", $p->bits, " ", $p->later->s, " ", $number, " ", $$parms$) } ' \
        'probe process.function("work").return { println($return) }'


def on(host):
    os.environ["XDG_CACHE_HOME"] = str(directory / host)


def reads(path):
    result = spile("-e", READS, "-c", path)
    result.out = re.sub("0x[0-9a-f]+", "ADDRESS", result.out)
    return result


if VARIANT == "carried":
    on("one")
    expected = reads(program_file).expect(out_match="^7 seven 5 4 5 ").out
    listed = spile("-L", f'process("{program_file}").function("work")').out.replace(f'"{program_file}"', "PROGRAM")
    spile("cache", "add", program_file).expect(out_match=r"work: \d+ functions$")
    spile("cache", "export", archive, program_file).expect(out_match=rf"^{archive}: \d+ answers about 1 file$")
    on("two")
    reads(bare).expect(status=1, err_match="has no symbols")
    spile("cache", "import", archive).expect(out_match=rf"^{archive}: \d+ answers about 1 file$")
    reads(bare).expect(out=expected, err="")
    expect(spile("-L", f'process("{bare}").function("work")').out.replace(f'"{bare}"', "PROGRAM"), listed, "-L on the other machine")
    spile("-l", f'process("{bare}").function("small").inline').expect(out_match=r"small@")
    spile("-l", f'process("{bare}").statement("work@work.c:7")').expect(status=1, err_match="its debug information is not here, and the imported answers")
    expect_match(rf"^{build_id} .*work \(imported\)$", spile("cache", "list").out)
    listed = [json.loads(line) for line in spile("--json", "cache", "list").expect(status=0, err="").out.splitlines()]
    expect([(row["build_id"], row["imported"], row["readable"], row["file"].endswith("work")) for row in listed if row["build_id"] == build_id], [(build_id, True, True, True)])
    expect_true(all(row["bytes"] == os.path.getsize(row["path"]) for row in listed), f"sizes: {listed}")
    spile("--json", "cache", "prune").expect(status=1, err_match="cache prune has no option --json")
    # Another build is another file.
    other = directory / "other"
    subprocess.run(["gcc", "-g", "-O2", "-s", "-Wl,--build-id", "-o", other, directory / "work.c"], check=True)
    reads(other).expect(status=1)
    # What is installed goes first.
    reads(program_file).expect(out=expected)
elif VARIANT == "kept":
    on("kept")
    expect_match("empty$", spile("cache", "list").out)
    reads(program_file).expect()
    line = next(line for line in spile("cache", "list").out.splitlines() if line.startswith(build_id))
    expect_true(line.endswith(str(program_file)), line)
    spile("cache", "rm", "0123456789abcdef").expect(status=1, err_match="nothing is cached about '0123456789abcdef'")
    spile("cache", "rm", program_file).expect(out="")
    expect_match("empty$", spile("cache", "list").out)
    reads(program_file).expect()
    spile("cache", "prune", "1").expect(out="removed 0.0 KiB\n")
    spile("cache", "prune", "0").expect(out_match="^removed [1-9]")
    expect_match("empty$", spile("cache", "list").out)
    for words, what in [((), "needs a word"), (("frob",), "'frob' has no meaning"), (("list", "x"), "'x' has no meaning behind list"), (("add",), "needs the names"),
                        (("add", "/nowhere"), "/nowhere"), (("add", bare), "has no debug information"), (("rm",), "needs build-ids"), (("prune", "much"), "not a number of MiB"),
                        (("export",), "needs the name"), (("export", archive), "the cache is empty"), (("export", archive, bare), f"nothing is cached about build-id {build_id}"),
                        (("import",), "needs one file"), (("import", directory / "none"), "No such file"), (("import", bare), "not a file of 'spile cache export'")]:
        spile("cache", *words).expect(status=1, out="", err_match=re.escape(what))
    spile("--disable-cache", "cache", "list").expect(status=1, err_match="there is no cache")
    # A damaged or foreign file of answers is not used.
    reads(program_file).expect()
    kept = next((directory / "kept/spile").glob("*.answers"))
    good = kept.read_bytes()
    for damaged in good[:100], good[:-5], good[:60] + b"\xff" * 40 + good[100:], b"x" * 1000, b"":
        kept.write_bytes(damaged)
        reads(program_file).expect(out_match="^7 seven 5 4 5 ", err="")
    # A folder that can't be written to, and files that a killed spile has left there.
    os.environ["XDG_CACHE_HOME"] = "/proc"
    spile("cache", "add", program_file).expect(status=1, err_match=r"what is known about .* can't be written to /proc/spile(.|\n)*hint: make room")
    on("left")
    folder = directory / "left" / "spile"
    folder.mkdir(parents=True)
    for name, days in (("0123.answers.abcdef", 2), ("0123.sections.4711", 2), ("4567.answers.abcdef", 0), ("mine.txt", 2)):
        (folder / name).write_text("x")
        os.utime(folder / name, (time.time() - days * 86400 - 60,) * 2)
    spile("cache", "add", program_file).expect(status=0)
    expect(sorted(file.name for file in folder.iterdir()), sorted(["4567.answers.abcdef", "mine.txt", f"{build_id}.answers"]))
elif VARIANT == "many":
    # All of a unit is read for its inlined calls, once and not for each of its functions: that took 42 s for 5,000.
    (directory / "many.c").write_text('static inline __attribute__((always_inline)) int in(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }\n' +
                                      "".join(f"__attribute__((noinline)) int f{i}(int x) {{ return in(x) + in(x + {i}); }}\n" for i in range(2500)) + "int main(void) { f1(1); return 0; }\n")
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", directory / "many", directory / "many.c"], check=True)
    on("one")
    began = processor_seconds()
    spile("cache", "add", directory / "many").expect(status=0)
    spent = processor_seconds() - began
    print(f"{spent:.1f} s of processor time")
    expect_true(spent < 5, f"{spent:.1f} s of processor time")
    spile("-e", f'probe process("{directory}/many").function("in").inline {{ n++ }} global n probe end {{ println(n) }}', "-c", directory / "many").expect(out="2\n")
else:
    on("one")
    spile("cache", "add", program_file).expect()
    spile("cache", "export", archive).expect()
    good = archive.read_bytes()

    def checksum(body):
        value = 0xcbf29ce484222325
        for byte in body:
            value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
        return struct.pack("<Q", value)

    assert checksum(good[32:]) == good[24:32]
    on("two")
    seed = chosen_seed(1)
    chance = random.Random(seed)
    end, imported, used = time.monotonic() + 15, 0, 0
    damaged_file = directory / "damaged"
    for broken in good[:20], good[:-1], good[:24] + b"\0" * 8 + good[32:], good.replace(b"cache 1", b"cache 9", 1):
        damaged_file.write_bytes(broken)
        spile("cache", "import", damaged_file).expect(status=1, out="", err_match="damaged|another version|not a file")
    while time.monotonic() < end:
        body = bytearray(good[32:])
        for _ in range(chance.choice([1, 1, 2, 8])):
            body[chance.randrange(len(body))] = chance.choice([0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)])
        if chance.random() < 0.1:
            del body[chance.randrange(len(body)):]
        damaged_file.write_bytes(good[:24] + checksum(body) + body)
        result = spile("cache", "import", damaged_file)
        expect_true(result.status in (0, 1), f"seed {seed}: {result}")
        if result.status == 0:
            imported += 1
            result = spile("-L", f'process("{bare}").function("*")')
            expect_true(result.status in (0, 1), f"seed {seed}: {result}")
            used += result.status == 0
        shutil.rmtree(directory / "two", ignore_errors=True)
    print(f"{imported} damaged files were imported, {used} used")
