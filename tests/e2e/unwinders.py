# Exceptions and walks by unwinders of all kinds, through frames whose returns are probed: the program is unharmed, and what
# returns is counted; where an unwinder has no names, no return is probed, and a warning says so.
# variants: llvm own stripped stripped_libgcc static static_stripped discarded plugin threads libunwind
import subprocess

from spiletest import *

THROWS = r"""
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#define PLACE __attribute__((noinline, noclone, visibility("default")))
static long cleaned;
struct Guard { PLACE ~Guard(); };
Guard::~Guard() { cleaned++; asm volatile("" ::: "memory"); }
extern "C" {
PLACE int thrower(int n) { if (n % 2) throw std::runtime_error("odd"); asm volatile("" ::: "memory"); return n; }
PLACE int middle(int n) { Guard guard; int r = thrower(n); asm volatile("" ::: "memory"); return r + 1; }
PLACE int catcher(int n) {
  int r;
  try { r = middle(n); } catch (const std::exception& e) { r = -1; }
  asm volatile("" ::: "memory");
  return r;
}
PLACE int compare(const void*, const void*) { throw 7; }
PLACE int run(int count) {
  long sum = 0;
  int numbers[] = {3, 1, 2};
  for (int i = 0; i < count; i++) {
    sum += catcher(i);
    try { qsort(numbers, 3, sizeof(int), compare); } catch (int n) { sum += n; }
  }
  printf("sum %ld cleaned %ld\n", sum, cleaned);
  fflush(stdout);
  return 0;
}
}
"""
MAIN = "int main(int argc, char** argv) { return run(atoi(argv[1])); }\n"
PLUGIN = r"""
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  void *library = dlopen(argv[2], RTLD_NOW);
  return library ? ((int (*)(int))dlsym(library, "run"))(atoi(argv[1])) : 2;
}
"""
# Each call of a user-level thread's functions begins on one thread and ends on another: the first one by a throw, so that no
# return has shown before that the program switches stacks.
THREADS = r"""
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <ucontext.h>
static ucontext_t one, other, fiber;
static ucontext_t* back;
static long caught, sum;
#define PLACE extern "C" __attribute__((noinline, noclone))
PLACE void change_thread() { asm volatile("" ::: "memory"); swapcontext(&fiber, back); asm volatile("" ::: "memory"); }
PLACE int thrower(int n) { change_thread(); if (n % 2 == 0) throw 7; asm volatile("" ::: "memory"); return n; }
PLACE int middle(int n) { int r = thrower(n); asm volatile("" ::: "memory"); return r + 1; }
PLACE void work(int n) { try { sum += middle(n); } catch (int thrown) { caught += thrown == 7; } asm volatile("" ::: "memory"); }
static int number;
static void body() { for (;;) { work(number); swapcontext(&fiber, back); } }
static void* finish(void*) { back = &other; swapcontext(&other, &fiber); return nullptr; }
int main(int argc, char** argv) {
  static char stack[256 << 10];
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = sizeof stack;
  makecontext(&fiber, body, 0);
  for (number = 0; number < atoi(argv[1]); number++) {
    back = &one;
    swapcontext(&one, &fiber);  // begins here
    pthread_t thread;
    pthread_create(&thread, nullptr, finish, nullptr);
    pthread_join(thread, nullptr);
  }
  printf("sum %ld caught %ld\n", sum, caught);
}
"""
WALKS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static int (*walk)(void **, int);
static long frames;
#define PLACE __attribute__((noinline)) static
#define STAY __asm__ volatile("" ::: "memory")
PLACE int leaf(int n) { void *at[64]; frames += walk(at, 64); STAY; return n; }
PLACE int middle(int n) { int r = leaf(n); STAY; return r + 1; }
PLACE int outer(int n) { int r = middle(n); STAY; return r + 1; }
int main(int argc, char **argv) {
  void *library = dlopen("libunwind.so.8", RTLD_NOW);
  if (!library) return 77;
  walk = (int (*)(void **, int))dlsym(library, "unw_backtrace");
  for (int i = 0; i < atoi(argv[1]); i++) outer(i);
  printf("frames %ld\n", frames);
}
"""
COUNT = 100
directory = temporary_directory()


def build(name, source, *command):
    subprocess.run([*command, "-x", "c++" if "++" in command[0] else "c", "-o", directory / name, "-", "-ldl", "-pthread"],
                   input=source.encode(), check=True, stderr=subprocess.DEVNULL)
    return directory / name


def check(command, counts=None, points=('process.function("*")',), nameless=False):
    """counts: of calls that returned, by function. nameless: the program has an unwinder without names."""
    own = subprocess.run(command.split(), capture_output=True, text=True)
    if own.returncode == 77:
        skip("a library is missing")
    expect(own.returncode, 0, f"status without probes\n{own.stdout}{own.stderr}")
    script = f"""global n, entered
probe {", ".join(points)} {{ entered++ }}
probe {", ".join(f"{point}.return" for point in points)} {{ n[ppfunc()]++ }}
probe end {{ printf("entered %d\\n", entered > {COUNT}); foreach (f+ in n) printf("%s %d\\n", f, n[f]) }}"""
    result = spile("-e", script, "-c", command).expect(status=0)
    expect_true(result.out.startswith(own.stdout + "entered 1\n"), f"what the program writes\n{result}\nalone: {own.stdout}")
    found = {f: int(n) for f, n in re.findall(r"^(\w+) (\d+)$", result.out, re.M)}
    for function, count in (counts or {}).items():
        expect(found.get(function, 0), count, f"returns of {function}\n{result}")
    expect("has no names" in result.err, nameless, str(result))
    # All of libc's functions, through which exceptions go as well: qsort's.
    libc = 'process("/lib/x86_64-linux-gnu/libc.so.6").function("*").return'
    result = spile("-e", f"global n probe {libc} {{ n++ }} probe end {{ }}", "-c", command)
    if "never loaded" not in result.err:  # statically linked
        expect_true(result.out.startswith(own.stdout), f"with all returns of libc\n{result}")
        expect("has no names" in result.err, nameless, str(result))


RETURNED = {"catcher": COUNT, "middle": COUNT // 2, "thrower": COUNT // 2, "run": 1}
OPTIONS = ("g++", "-O1", "-g")
if VARIANT == "llvm":
    check(f"{build('p', THROWS + MAIN, 'clang++-19', '-O1', '-g', '-stdlib=libc++')} {COUNT}", RETURNED)
elif VARIANT == "own":
    check(f"{build('p', THROWS + MAIN, *OPTIONS, '-static-libgcc', '-static-libstdc++')} {COUNT}", RETURNED)
elif VARIANT == "stripped":
    check(f"{build('p', THROWS + MAIN, *OPTIONS, '-static-libgcc', '-static-libstdc++', '-s')} {COUNT}", nameless=True)
elif VARIANT == "stripped_libgcc":
    check(f"{build('p', THROWS + MAIN, *OPTIONS, '-static-libgcc', '-s')} {COUNT}", nameless=True)
elif VARIANT == "static":
    check(f"{build('p', THROWS + MAIN, *OPTIONS, '-static')} {COUNT}", RETURNED)
elif VARIANT == "static_stripped":
    check(f"{build('p', THROWS + MAIN, *OPTIONS, '-static', '-s')} {COUNT}", nameless=True)
elif VARIANT == "discarded":  # some of the unwinder's names are left
    path = build("p", THROWS + MAIN, *OPTIONS, "-static-libgcc", "-static-libstdc++")
    subprocess.run(["strip", "-x", "-g", path], check=True)
    check(f"{path} {COUNT}", nameless=True)
elif VARIANT == "plugin":
    own = ("-static-libgcc", "-static-libstdc++", "-Wl,--exclude-libs,ALL", "-shared", "-fPIC")
    main = build("main", PLUGIN, "gcc", "-O1", "-g")
    named, stripped = (build(name, THROWS, *OPTIONS, *own, *more) for name, more in (("named.so", ()), ("stripped.so", ("-s",))))
    check(f"{main} {COUNT} {named}", RETURNED, points=(f'process("{named}").function("*")',))
    check(f"{main} {COUNT} {stripped}", nameless=True, points=(f'process("{stripped}").function("*")',))
elif VARIANT == "threads":
    check(f"{build('p', THREADS, *OPTIONS)} {COUNT}", {"middle": COUNT // 2, "thrower": COUNT // 2, "work": COUNT},
          [f'process.function("{name}")' for name in ("middle", "thrower", "work")])
elif VARIANT == "libunwind":
    check(f"{build('p', WALKS, 'gcc', '-O1', '-g')} {COUNT}", {"leaf": COUNT, "middle": COUNT, "outer": COUNT})
