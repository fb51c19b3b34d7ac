# `trace`, `snap` and `top` of all functions but some, in programs with symbols, whose _start has no return; and patterns of
# functions in namespaces: what '!NAME' leaves out, and which pattern an error suggests.
from spiletest import *

directory = temporary_directory()
(directory / "shop.cpp").write_text("""namespace shop {
__attribute__((noinline)) int sell(int n) { asm volatile(""); return n * 2; }
__attribute__((noinline)) int buy(int n) { asm volatile(""); return n + 1; }
}
__attribute__((noinline)) int count(int n) { asm volatile(""); return n; }
int main() { return shop::sell(1) + shop::buy(2) + count(3) != 8; }
""")
program_file = directory / "program"
for flags in (["-g"], [], ["-static"]):
    subprocess.run(["g++", "-O1", *flags, "-o", program_file, directory / "shop.cpp"], check=True)
    for pattern, left in (("!sell", {"shop::buy", "count"}), ("!shop::*", {"count"}), ("!se*", {"shop::buy", "count"})):
        if "-static" in flags and pattern != "!sell":
            continue
        words = ["shop::*", "count", "main", "_start*"] if "-static" in flags else ["*"]
        traced = spile("trace", *words, pattern, "-c", program_file).expect(status=0)
        found = set(re.findall(r"(shop::sell|shop::buy|count)\(", traced.out))
        expect(found, left, f"{flags} {pattern}")
        table = spile("top", *words, pattern, "-c", program_file).expect(status=0)
        expect(set(re.findall(r"^(shop::sell|shop::buy|count) ", table.out, re.M)), left, f"top: {flags} {pattern}")
    spile("snap", "*", "!sell", "--when", "main > 1ns", "-c", program_file).expect(status=0, out_match="count")
spile("trace", "_start", "-c", program_file).expect(status=1, err_match="can't be probed at its return")

subprocess.run(["g++", "-O1", "-g", "-o", program_file, directory / "shop.cpp"], check=True)
for verb in (["trace", "shop*", "-c", program_file], ["funcs", program_file, "sho*"], ["lines", program_file, "shop"],
             ["-e", 'probe process.function("shop*") { }', "-c", program_file], ["top", "shop", "-c", program_file]):
    spile(*verb).expect(status=1, err_match=r"hint: did you mean 'shop::\*'\?")
spile("funcs", program_file, "shop::*", "!sell").expect(out="shop::buy\n")
spile("funcs", program_file, "selll").expect(status=1, err_match="did you mean 'sell'")
