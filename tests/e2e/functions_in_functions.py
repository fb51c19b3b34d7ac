# Lambdas, methods of local classes and GNU C's nested functions, which gcc describes inside the function around them: found by
# name, file and line, and what they return is read with its type.
from spiletest import *

SOURCES = {"cc": r"""#define KEPT __attribute__((noipa))
volatile int sink;
KEPT int outer(int n) {
  struct Local { KEPT signed char
    method(int a) { return sink = a - 5; } } local;
  int sum = local.method(n);
  auto lambda = [&](int a) KEPT -> short {
    return sink = a - 7; };
  return sum + lambda(n);
}
int main() {
  for (int i = 0; i < 3; i++) outer(i);
}
""", "c": r"""#define KEPT __attribute__((noipa))
volatile int sink;
KEPT int outer(int n) {
  KEPT signed char
    method(int a) { return sink = a + n - 5; }
  int sum = method(0);
  KEPT short lambda(int a) {
    return sink = a - 7; }
  return sum + lambda(n);
}
int main(void) {
  for (int i = 0; i < 3; i++) outer(i);
}
"""}
SCRIPT = """probe process.function("*@a.SUFFIX:5").return { printf("method %d\\n", returnval()) }
probe process.function("NAME*@a.SUFFIX").return { printf("lambda %d %d\\n", $a, returnval()) }
probe process.statement("*@a.SUFFIX:8") { println("statement") }"""
EXPECTED = "".join(f"method {i - 5}\nstatement\nlambda {i} {i - 7}\n" for i in range(3))

folder = temporary_directory()
for suffix, compiler, name in [("cc", "g++", "operator()"), ("c", "gcc", "lambda")]:
    source = folder / f"a.{suffix}"
    source.write_text(SOURCES[suffix])
    for level in ["-O0", "-O1", "-O2"]:
        subprocess.run([installed(compiler), "-g", level, str(source), "-o", str(folder / "a")], check=True)
        spile("-e", SCRIPT.replace("SUFFIX", suffix).replace("NAME", name), "-c", str(folder / "a")).expect(out=EXPECTED, err="")
        listed = spile("-l", f'process("{folder}/a").function("*@a.{suffix}")').expect().out
        expect(sorted(int(n) for n in re.findall(r":(\d+)\"\)$", listed, re.M)), [3, 5, 7, 11], f"lines of functions\n{listed}")
