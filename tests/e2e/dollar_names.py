# Names of variables with a dollar in them, as Pascal's compilers (and gcc, by default) have them: what -L lists can be written.
from spiletest import *

folder = temporary_directory()
(folder / "sum.c").write_text("""__attribute__((noinline)) int sum(int *V, long $highV, long a$b, int vars, int $vars) {
  int s = $highV + a$b;
  __asm__ volatile("" : "+r"(s));
  return s + vars + $vars;
}
int main() { int v[3] = {1, 2, 3}; return sum(v, 2, 5, 1, 2) - 10; }
""")
path = folder / "sum"
subprocess.run(["gcc", "-g", "-O0", "-w", "-o", path, folder / "sum.c"], check=True)
spile("-L", f'process("{path}").function("sum")').expect(status=0, out_match=r"\$V:int\* \$\$highV:long int \$a\$b:long int ")
script = r"""probe process.function("sum") { println($$highV, " ", $$highV + 1, " ", $a$b, " ", $vars, " ", $$highV$) }
probe process.function("sum").return { println($$highV, " ", @entry($$highV), " ", $return) }"""
spile("-e", script, "-c", path).expect(status=0, out="2 3 5 1 2\n2 2 10\n")
spile("lat", "sum", "--by", "$$highV", "-c", path).expect(status=0, out_match=r"(?m)^2 +1 ")
# A variable that has the name of a set of variables is not followed without end.
spile("-e", 'probe process.function("sum") { println($$parms) println($$parms$) }', "-c", path).expect(
    status=0, out_match=r"^V=0x[0-9a-f]+ \$highV=0x2 a\$b=0x5 vars=0x1 \$vars=\?\nV=.* \$highV=2 a\$b=5 vars=1 \$vars=\?\n$")
spile("trace", "sum", "-c", path).expect(status=0, out_match=r"sum\(V=0x[0-9a-f]+, \$highV=2, a\$b=5, vars=1, \$vars=\?\) = 10")
spile("-p2", "-e", 'probe process.function("sum") { println($highV) }', "-c", path).expect(
    status=1, err_match=r"hint: did you mean '\$\$highV'\?")
spile("-p2", "-e", 'probe process.function("sum") { println($$highW) }', "-c", path).expect(
    status=1, err_match=r"unknown set of variables '\$\$highW'")
