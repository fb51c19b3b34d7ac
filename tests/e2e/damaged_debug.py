# Debug information, symbols and notes with random bytes overwritten: whatever is made of them, the program does what it does
# without probes. DAMAGED=N in the environment tries N copies of each section rather than a few.
# variants: lines scopes symbols marks unwinding
from spiletest import *
import random
import struct

SECTIONS = {"lines": [".debug_line"], "scopes": [".debug_info", ".debug_ranges", ".debug_rnglists", ".debug_addr"],
            "symbols": [".symtab"],
            "marks": [".note.stapsdt", ".stapsdt.base"], "unwinding": [".eh_frame_hdr", ".debug_frame"]}
POINTS = {"lines": ['statement("*@*:*")'],
          "scopes": ['statement("*@*:*")', 'function("*").inline', 'function("*")', 'function("*").label("*")'],
          "symbols": ['function("*")', 'function("*").return', 'statement("*@*:*")'], "marks": ['mark("*")'],
          "unwinding": ['function("*").return', 'statement("*@*:*")']}


def sections(elf):
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    name_table = headers[names][4]
    return {elf[name_table + h[0]:elf.index(b"\0", name_table + h[0])].decode(): (h[4], h[5]) for h in headers}


good = program("values" if VARIANT == "marks" else "calls_dwarf4" if VARIANT == "scopes" else "calls")
elf = pathlib.Path(good).read_bytes()
places = [place for name, place in sections(elf).items() if name in SECTIONS[VARIANT] and place[1]]
expect_true(places, f"{good} has none of {SECTIONS[VARIANT]}")
wanted = subprocess.run([good, "100"], capture_output=True, text=True).stdout
directory = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(directory)
copies = int(os.environ.get("DAMAGED", 12))
ran = 0
for seed in range(copies):
    numbers = random.Random(seed)
    damaged = bytearray(elf)
    for _ in range(numbers.choice([1, 3, 10, 40])):
        at, size = numbers.choice(places)
        damaged[at + numbers.randrange(size)] = numbers.choice(
            [numbers.randrange(256), 0, 255, damaged[at] ^ 1 << numbers.randrange(8)])
    copy = directory / f"damaged{seed}"
    copy.write_bytes(damaged)
    copy.chmod(0o755)
    point = POINTS[VARIANT][seed % len(POINTS[VARIANT])]
    result = spile("-w", "-e", f"global c probe process.{point} {{ c++ }}", "-c", f"{copy} 100", timeout=60)
    shutil.rmtree(directory / "spile", ignore_errors=True)  # what is remembered is by build-id
    copy.unlink()
    what = f"seed {seed}, {point}\n{result}"
    expect_true(result.status in (0, 1) and "with signal" not in result.err, what)
    if result.status == 0:
        ran += 1
        expect(result.out[:len(wanted)], wanted, what)
expect_true(ran > copies // 4, f"only {ran} of {copies} copies were probed")
print(f"{ran} of {copies} probed")
