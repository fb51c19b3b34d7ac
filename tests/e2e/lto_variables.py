# Programs that gcc optimizes when it links them (-flto): of variables that several files have under one name, each function sees
# its own file's, @var("x@FILE") is that file's, also in code that was inlined from one file into another; and the values are
# those of the same program without -flto.
# variants: c cpp
from spiletest import *

C = {"a.c": """
int shared_total;
static int counter = 3;
static int only_a = 11;
static int __attribute__((noinline)) bump(int by) { static int calls; calls++; counter += by; only_a++; return counter + calls; }
int __attribute__((noinline)) a_entry(int x, const char *name) { shared_total += x; return bump(x * 2) + !name; }
int small(int x) { counter++; return x + counter; }
""", "b.c": """
extern int printf(const char *, ...);
extern int shared_total;
struct pt { int x, y; };
static int counter = 100;
static struct pt origin = {4, 5};
static int __attribute__((noinline)) bump(int by) {
  static int calls;
  calls += 10; counter -= by; origin.x++;
  return counter + calls;
}
int a_entry(int x, const char *name);
int small(int x);
int __attribute__((noinline)) b_entry(int x, struct pt *p) { return bump(x + p->x) + small(x); }
int main(int argc, char **argv) {
  struct pt p = {7, 8};
  int s = 0;
  for (int i = 0; i < 3; i++) s += a_entry(i + argc, argv[0]) + b_entry(i, &p);
  return printf("%d %d\\n", s, shared_total) < 0;
}
"""}
C_SCRIPT = """
probe process.function("a_entry") { printf("a %d %d %d %d %d %d\\n",
  $counter, $only_a, $shared_total, $x, @var("counter@a.c"), @var("counter@b.c")) }
probe process.function("b_entry") { printf("b %d %s %d %d %d %d\\n",
  $counter, $origin$, $shared_total, $x, @var("counter@a.c"), @var("counter@b.c")) }
probe process.function("bump") { printf("bump %d %d %d\\n", $counter, $calls, $by) }
probe process.function("small") { printf("small %d\\n", $counter) }"""
CPP = {"a.cpp": """
namespace shop {
static int stock = 5;
struct S { static int made; };
int S::made = 9;
namespace { int hidden = 77; }
int __attribute__((noinline)) sell(int n) { stock -= n; S::made++; hidden++; return stock + hidden; }
}
""", "b.cpp": """
#include <cstdio>
namespace shop {
int sell(int);
static int stock = 500;
namespace { int hidden = 1; }
static inline int helper(int x) { stock += x; hidden += 2; return stock + hidden; }
int __attribute__((noinline)) buy(int n) { return helper(n); }
}
int main(int argc, char **) {
  int s = 0;
  for (int i = 0; i < 3; i++) s += shop::sell(i + argc) + shop::buy(i);
  std::printf("%d\\n", s);
}
"""}
CPP_SCRIPT = """
probe process.function("sell") { printf("sell %d %d %d %d\\n",
  $stock, $hidden, @var("shop::S::made"), @var("shop::stock@b.cpp")) }
probe process.function("buy") { printf("buy %d %d %d %d\\n",
  $stock, $hidden, @var("shop::S::made"), @var("shop::stock@a.cpp")) }
probe process.function("helper") { printf("helper %d %d\\n",
  $stock, $hidden) }"""

sources, script, compiler = (C, C_SCRIPT, "gcc") if VARIANT == "c" else (CPP, CPP_SCRIPT, "g++")
folder = temporary_directory()
for name, text in sources.items():
    (folder / name).write_text(text)


def output(*options):
    subprocess.run([installed(compiler), "-g", *options, "-o", "program", *sources], cwd=folder, check=True)
    return spile("-e", script, "-c", folder / "program").expect(status=0).out


# Where small() is entered depends on what is inlined.
plain = output("-O0")
expect(len(plain.splitlines()), 16 if VARIANT == "c" else 10, plain)
for level in ["-O0", "-O1", "-O2", "-O3"]:
    expect(output(level, "-flto"), plain, f"-flto {level}")
expect(output("-O2", "-flto", "-flto-partition=none"), plain, "one partition")
