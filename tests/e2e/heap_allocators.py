# heap.allocate and heap.free, `spile leaks` and `flame --alloc`: programs whose calls are known, with each allocator. Counts and
# bytes equal the calls that the program makes, by the function that makes them.
# variants: libc static jemalloc tcmalloc mimalloc own unseen go asked
import json
from spiletest import *

folder = temporary_directory()
LIBRARIES = {"libc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": "libmimalloc.so.2.0"}

# Each function makes 100 calls, whose sizes are in its row: bytes that are left at the end, and bytes that were asked for.
C = {"t_malloc": (100100, 100100), "t_calloc": (300900, 300900), "t_realloc": (100500, 100500),
     "t_reallocarray": (503500, 503500),
     "t_memalign": (100900, 100900), "t_aligned_alloc": (108800, 108800), "t_valloc": (101100, 101100),
     "t_pvalloc": (101300, 101300), "t_posix_memalign": (101500, 101500), "t_grow": (10000000, 10001000),
     "t_freed": (0, 101700 + 1000)}
CPP = {"t_new": (200100, 200100), "t_new_array": (200300, 200300), "t_new_nothrow": (200500, 200500),
       "t_new_aligned": (200700, 200700), "t_deep": (200900, 200900), "t_freed": (0, 201100 + 201300)}
BEGIN = """#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
void* volatile sink;
#define KEEP __attribute__((noinline, noclone, used))
#define EACH(name, call) KEEP void name(void) { for (int i = 0; i < 100; i++) sink = call; __asm__ volatile(""); }
"""
C_TEXT = BEGIN + """
EACH(t_malloc, malloc(1001)) EACH(t_calloc, calloc(3, 1003)) EACH(t_realloc, realloc(NULL, 1005))
EACH(t_reallocarray, reallocarray(NULL, 5, 1007)) EACH(t_memalign, memalign(64, 1009))
EACH(t_aligned_alloc, aligned_alloc(64, 1088))
EACH(t_valloc, valloc(1011)) EACH(t_pvalloc, pvalloc(1013))
KEEP void* placed(void) { void* p; if (posix_memalign(&p, 64, 1015)) abort(); return p; }
EACH(t_posix_memalign, placed())
KEEP void* larger(void) { void* p = malloc(10); return realloc(p, 100000); }
EACH(t_grow, larger())
KEEP void t_freed(void) {
  for (int i = 0; i < 100; i++) { sink = malloc(1017); free(sink); sink = malloc(10); sink = realloc(sink, 0); }
}
KEEP void t_fails(void) {
  for (int i = 0; i < 10; i++) { sink = malloc(1ul << 60); sink = realloc(NULL, 1ul << 60); free(NULL); }
}
int main(void) {
  t_malloc(); t_calloc(); t_realloc(); t_reallocarray(); t_memalign(); t_aligned_alloc(); t_valloc(); t_pvalloc();
  t_posix_memalign(); t_grow(); t_freed(); t_fails();
  return 0;
}
"""
CPP_TEXT = """#include <cstdint>
#include <cstdlib>
#include <new>
void* volatile sink;
#define KEEP extern "C" __attribute__((noinline, noclone, used))
#define EACH(name, call) KEEP void name() { for (int i = 0; i < 100; i++) sink = call; __asm__ volatile(""); }
EACH(t_new, ::operator new(2001)) EACH(t_new_array, ::operator new[](2003))
EACH(t_new_nothrow, ::operator new(2005, std::nothrow))
EACH(t_new_aligned, ::operator new(2007, std::align_val_t(64)))
KEEP void t_fails() { for (int i = 0; i < 10; i++) try { sink = ::operator new(SIZE_MAX / 4); } catch (std::bad_alloc&) {} }
KEEP void t_deep(int n) {
  volatile char room[100]; room[0] = 1;
  if (n) t_deep(n - 1); else for (int i = 0; i < 100; i++) sink = malloc(2009);
  room[1] = 1;
}
KEEP void t_freed() {
  for (int i = 0; i < 100; i++) {
    sink = ::operator new(2011); ::operator delete(sink, size_t(2011));
    sink = ::operator new[](2013); ::operator delete[](sink);
  }
}
int main(int count, char**) {
  if (count == 1) t_fails();
  t_new(); t_new_array(); t_new_nothrow(); t_new_aligned();
  if (count == 1) t_fails();
  t_deep(5); t_freed();
}
"""
# 8 threads at once; 103 bytes are asked for by nobody else.
THREADS_TEXT = BEGIN + """
KEEP void* work(void* n) {
  for (long i = 0; i < (long)n; i++) { void* volatile p = calloc(1, 103); free(p); }
  return malloc(107);
}
int main(int count, char** words) {
  pthread_t t[8];
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, work, (void*)atol(words[1]));
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
  return 0;
}
"""
# An allocator in the program itself, as P(malloc): of its own, or around the C library's.
OWN = {"t_malloc": (100100, 100100), "t_calloc": (300900, 300900), "t_grow": (5000000, 5001600), "t_freed": (0, 101700)}
OWN_TEXT = BEGIN + """
extern void* __libc_malloc(size_t); extern void __libc_free(void*);
KEEP void P(free)(void*);
#ifdef WRAPS
KEEP void* P(malloc)(size_t n) { char* p = __libc_malloc(n + 16); return p ? p + 16 : 0; }
KEEP void P(free)(void* p) { if (p) __libc_free((char*)p - 16); }
#else
static char room[1 << 26]; static size_t used;
KEEP void* P(malloc)(size_t n) { void* p = room + used; used += (n + 15) & ~15ul; __asm__ volatile(""); return p; }
KEEP void P(free)(void* p) { __asm__ volatile("" :: "r"(p)); }
#endif
KEEP void* P(calloc)(size_t a, size_t b) { void* p = P(malloc)(a * b); memset(p, 0, a * b); return p; }
KEEP void* P(realloc)(void* p, size_t n) {
  void* q = P(malloc)(n);
  if (p) memcpy(q, p, 16);
#ifdef WRAPS
  P(free)(p);
#endif
  return q;
}
EACH(t_malloc, P(malloc)(1001)) EACH(t_calloc, P(calloc)(3, 1003))
KEEP void* larger(void) { void* p = P(malloc)(16); return P(realloc)(p, 50000); }
EACH(t_grow, larger())
KEEP void t_freed(void) { for (int i = 0; i < 100; i++) { sink = P(malloc)(1017); P(free)(sink); } }
int main(void) { t_malloc(); t_calloc(); t_grow(); t_freed(); return 0; }
"""
POOL_TEXT = """#include <cstdlib>
static char room[1 << 20]; static size_t used;
void* operator new(size_t n) { void* p = room + used; used += (n + 15) & ~15ul; asm volatile(""); return p; }
void operator delete(void* p) noexcept { asm volatile("" :: "r"(p)); }
void* volatile sink;
extern "C" __attribute__((noinline, noclone, used)) void t_malloc() {
  for (int i = 0; i < 100; i++) sink = ::operator new(1001);
  asm volatile("");
}
int main() { t_malloc(); }
"""


def built(name, text, *options, compiler="gcc"):
    source = folder / (name + (".cc" if compiler == "g++" else ".c"))
    source.write_text(text)
    subprocess.run([installed(compiler), "-w", "-O1", "-fno-builtin", source, "-o", folder / name, *options], check=True)
    return folder / name


def library_path(name):
    for place in "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib":
        if (pathlib.Path(place) / name).exists():
            return f"{place}/{name}"
    skip(f"{name} is not installed")


def function_of(frames, names):
    """The innermost frame that is one of the program's functions."""
    for frame in frames:
        name = re.match(r"\w*", frame)[0]
        if name in names:
            return name


def check(command, wanted, err=""):
    """All of leaks, flame and a script see what the program does."""
    left, blocks = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
    result = spile("leaks", "--json", "--limit", 1000, "-c", command).expect(status=0, err=err)
    for row in map(json.loads, result.out.splitlines()):
        name = function_of(row["stack"], wanted)
        if name:
            left[name] += row["bytes"]
            blocks[name] += row["blocks"]
    expect(left, {name: numbers[0] for name, numbers in wanted.items()}, f"{command}: bytes that are left")
    # realloc(p, 0) frees p; mimalloc's gives a block of no bytes.
    expect({name: 0 if not wanted[name][0] else number for name, number in blocks.items()},
           {name: 100 if numbers[0] else 0 for name, numbers in wanted.items()}, f"{command}: blocks that are left")
    asked = dict.fromkeys(wanted, 0)
    for line in spile("flame", "--alloc", "-c", command).expect(status=0, err=err).out.splitlines():
        stack, weight = line.rsplit(" ", 1)
        name = function_of(reversed(stack.split(";")), wanted)
        if name:
            asked[name] += int(weight)
    expect(asked, {name: numbers[1] for name, numbers in wanted.items()}, f"{command}: bytes that were asked for")


def check_threads(command, calls=20000):
    """Without keys, which several threads would wait for: hits must not be skipped."""
    script = """global given, freed
probe heap.allocate { if (size == 103) given <<< size }
probe heap.free { freed <<< 1 }
probe end { printf("%d %d %d\\n", @count(given), @sum(given), @count(freed)) }"""
    number, total, freed = spile("-e", script, "-c", f"{command} {calls}").expect(status=0, err="").numbers()
    expect((number, total), (8 * calls, 8 * calls * 103), f"{command}: calls and bytes")
    expect_true(8 * calls <= freed < 8 * calls + 1000, f"{command}: {freed} calls of free")
    for attempt in range(5):
        result = spile("leaks", "--json", "--limit", 1000, "-c", f"{command} 200").expect(status=0)
        if "skipped probes" not in result.err:  # on a busy machine: a thread that has the table's lock may stand still
            break
    mine = [row for row in map(json.loads, result.out.splitlines()) if function_of(row["stack"], {"work"})]
    expect((sum(row["blocks"] for row in mine), sum(row["bytes"] for row in mine)), (8, 8 * 107),
           f"{command}: what threads have left")


if VARIANT in LIBRARIES:
    library = LIBRARIES[VARIANT]
    preload = f"env LD_PRELOAD={library_path(library)} " if library else ""
    check(f"{preload}{built('takes', C_TEXT)}", C)
    # mimalloc ends a program whose operator new fails.
    check(f"{preload}{built('news', CPP_TEXT, compiler='g++')}{' well' if VARIANT == 'mimalloc' else ''}", CPP)
    check_threads(f"{preload}{built('threads', THREADS_TEXT, '-pthread')}")
    if library:
        # Linked with it, rather than preloaded.
        check(str(built("linked", C_TEXT, f"-Wl,--no-as-needed,{library_path(library)}")), C)
elif VARIANT == "static":
    check(str(built("takes", C_TEXT, "-static")), C)
    check(str(built("takes_pie", C_TEXT, "-static-pie")), C)
    # Executed by another program, which has a heap of its own.
    check(f"sh -c '{built('news', CPP_TEXT, '-static', compiler='g++')}; true'", CPP)
    check_threads(str(built("threads", THREADS_TEXT, "-static", "-pthread")))
elif VARIANT == "own":
    for prefix in "", "je_", "tc_", "_rjem_":
        names = f"-DP(name)={prefix}##name" if prefix else "-DP(name)=name"
        check(str(built(f"own{prefix}", OWN_TEXT, names)), OWN)
        check(str(built(f"wraps{prefix}", OWN_TEXT, "-DWRAPS", names)), OWN)
    check(str(built("pool", POOL_TEXT, compiler="g++")), {"t_malloc": (100100, 100100)})
elif VARIANT == "unseen":
    # Stripped, static: the names are gone. `leaks` must not say that nothing is left.
    stripped = built("stripped", C_TEXT, "-static", "-s")
    for words in ["leaks"], ["flame", "--alloc"], ["-e", "probe heap.allocate { println(size) }"]:
        spile(*words, "-c", stripped).expect(
            status=0, out_match=r"\A(no allocation was seen\n)?\Z",
            err_match=rf"^WARNING: can't see allocations of {stripped}: no function of malloc's kind is known in it$")
    marked = built("marked", C_TEXT.replace("t_fails();\n", "t_fails(); if (!sink) sink = \"<jemalloc>: \";\n"), "-static", "-s")
    spile("leaks", "-c", marked).expect(
        status=0,
        err_match=rf"^WARNING: can't see allocations of the jemalloc inside {marked}: its functions have no names there$")
    # Another allocator's names, in a program without symbols: those that it exports are known.
    spile("leaks", "-c", built("exported", OWN_TEXT, "-s", "-DP(name)=name")).expect(status=0, out_match=r"^\d.* 100 ", err="")
    spile("leaks", "-c", "/bin/true").expect(status=0, err="")
elif VARIANT == "go":
    go = program("go_calls")
    spile("leaks", "-c", f"{go} 1 10").expect(
        status=0, err_match=rf"^WARNING: can't see allocations of Go's own heap in {go}: its own profiler shows them")
else:
    # What can be asked, and what can't.
    roles = "malloc calloc memalign posix_memalign realloc reallocarray heap_calloc heap_realloc free".split()
    expect(sorted(spile("-l", 'process.allocator("*")').expect(status=0).out.split()),
           sorted(f'process.allocator("{role}")' for role in roles))
    expect(spile("-l", 'process.allocator("*alloc").return').expect(status=0).out.split(),
           [f'process.allocator("{role}").return' for role in sorted(roles) if role.endswith("alloc")])
    expect(spile("-l", "heap.*").expect(status=0).out.split(), ["heap.allocate", "heap.free"])
    shown = spile("-L", "heap.allocate").expect(status=0).out
    expect_match(r"^heap\.allocate .*address:long.*size:long|^heap\.allocate .*size:long.*address:long", shown)
    refused = {
        'process.allocator("mallok")': r"no function of allocators is known as 'mallok'(.|\n)*did you mean 'malloc'",
        "process.allocator": "allocator needs a name",
        'process("/bin/true").allocator("malloc")': "the allocators of all traced processes are probed together",
        'process.allocator("malloc").call': "call",
        'process.allocator("malloc").return.maxactive(3)': "maxactive"}
    for point, message in refused.items():
        spile("-e", f"probe {point} {{ next }}", "-c", "/bin/true").expect(status=1, out="", err_match=message)
    for point in "heap.allocate", "heap.free":
        spile("-e", f"probe {point} {{ next }}").expect(status=1, out="", err_match="use -c COMMAND or -x PID")
        result = spile("--runtime=bpf", "-e", f"probe {point} {{ next }}", "-c", "/bin/true")
        result.expect(status=1, out="", err_match="process.allocator has handlers in the processes, and none in the kernel")
        expect(result.err.count("error: "), 1, "errors")
    for variable in "$size", "$return":
        spile("-e", f'probe process.allocator("malloc").return {{ println({variable}) }}', "-c", "/bin/true").expect(
            status=1, err_match="variables are not known here: process.allocator is about functions of any file")
    spile("-e", 'probe process.allocator("malloc") { println($$parms) exit() }', "-c", built("takes", C_TEXT)).expect(
        status=0, out="\n", err_match=r"'\$\$parms' is empty at process\.allocator\(\"malloc\"\), which may be any file's")
    # A script that probes free alone; what a handler knows of the place.
    spile("-e", "global n probe heap.free { n[usymname(ustack(1))]++ } probe end { println(n[\"t_freed\"]) }",
                  "-c", folder / "takes").expect(out="100\n", status=0, err="")
    spile("-e", 'probe process.allocator("free") { println(pp(), " ", probefunc(), " ", usymname(ustack(0)), " ", '
          'umodname(uaddr())) exit() }', "-c", folder / "takes").expect(
              out='process.allocator("free") free free libc.so.6\n', status=0, err="")
    # In a bundle, which is not made for the files of one machine.
    bundle = folder / "heap.bundle"
    script = 'global n probe heap.allocate { if (size == 1001) n <<< size } probe end { println(@count(n), " ", @sum(n)) }'
    spile("-p4", "-o", bundle, "-e", script, "-c", folder / "takes").expect(status=0, err="")
    for command in folder / "takes", built("takes_static", C_TEXT, "-static"):
        spile(bundle, "-c", command).expect(out="100 100100\n", status=0, err="")
    # Processes that run already: each file that they share is probed once.
    begin = "int main(void) {"
    waiting = built("waits", C_TEXT.replace("<malloc.h>", "<malloc.h>\n#include <stdio.h>").replace(
        begin, f'{begin} puts("ready"); fflush(stdout); getchar();'))
    targets = [start(waiting, ready="ready", stdin=subprocess.PIPE) for _ in range(3)]
    session = Session("-v", "-e", script.replace("}", "} probe heap.free { if (usymname(ustack(1)) == \"t_freed\") freed++ }", 1)
                      .replace("global n", "global n, freed").replace('" ", @sum(n)', '" ", @sum(n), " ", freed'),
                      *(word for target in targets for word in ("-x", target.pid))).attached(targets[0].pid)
    for target in targets:
        target.stdin.close()
        target.wait()
    expect(session.wait().expect(status=0).out, "300 300300 300\n", "three processes")
