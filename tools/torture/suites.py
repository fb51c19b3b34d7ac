#!/usr/bin/env python3
"""Real programs with all of their functions probed, entry and return: what they write must be what they write un-probed.

    tools/torture/suites.py [NAME...]     all by default; those whose programs are not installed are skipped, saying why

    sqlite3    a long script of SQL            clang     clang-19 compiles a file that uses much of the C++ library
    throws     C++ exceptions                  python    python3 runs some of its own tests, all functions of the
    rust       panics, caught (rustc)                    interpreter probed (libpython3.11-testsuite)
    go         goroutines and panics (golang)
    redis      redis-benchmark                 postgres  pgbench, all functions of all backends probed
    node       JavaScript with workers, timers, children: all C++ functions' entries, libuv's returns too
    java       the Java virtual machine's functions, entries; null checks, stack overflow, collections (a JDK)
    children   make -j, gcc, git, shell pipelines, python's multiprocessing: all functions of the C library in all processes
    openssl    hand-written assembly           bash      functions, loops, subshells       perl, busybox
"""
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests/e2e"), str(HERE)]
import spiletest as st
from queries import queries

# The program's output stays its own: what spile has to say goes to a file.
SCRIPT = """global entries, returns
probe %(point)s.call { entries++ }
%(returns)s
probe end { printf("probed %%d %%d\\n", entries, returns) }"""
RETURNS = "probe %(point)s.return { returns++ }"


def script(binary, returns=True):
    point = f'process("{binary}").function("*")'
    return SCRIPT % {"point": point, "returns": RETURNS % {"point": point} if returns else ""}


def stable(text, volatile):
    for pattern in volatile:
        text = re.sub(pattern, "", text)
    return text


def compare(name, binary, command, returns=True, volatile=(), timeout=1500):
    """Runs the command twice; its output and status must be the same. The numbers of entries and returns seen."""
    shell = shlex.join(str(word) for word in command)
    start = time.monotonic()
    plain = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                           stdin=subprocess.DEVNULL)
    middle = time.monotonic()
    directory = st.temporary_directory()
    result = st.spile("-o", directory / "counts", "-e", script(binary, returns), "-c", shell, timeout=timeout)
    took = time.monotonic() - middle
    counts = re.search(r"probed (\d+) (\d+)", (directory / "counts").read_text())
    st.expect_true(counts is not None, f"{name}: nothing was counted\n{result}")
    st.expect(stable(result.out, volatile), stable(plain.stdout, volatile), f"{name}: the program's output\n{result.err[-2000:]}")
    st.expect(result.status, plain.returncode, f"{name}: status\n{result}")
    entries, left = map(int, counts.groups())
    warnings = len(re.findall("^WARNING", result.err, re.M))
    print(f"{name}: same output; {entries} entries, {left} returns; {middle - start:.1f} s, probed {took:.1f} s; "
          f"{warnings} warnings",
          flush=True)
    for line in sorted({re.sub(r"\d+|'[^']*'|\S*/\S*", "_", w) for w in result.err.splitlines() if "WARNING" in w})[:4]:
        print("   ", line[:160])
    return entries, left


def sqlite3(rows=20000):
    sql = st.temporary_directory() / "queries.sql"
    sql.write_text(queries(rows))
    binary = st.debian_source_program("sqlite3")
    return compare("sqlite3", binary, [binary, ":memory:", f".read {sql}"])


def throws(count=20000):
    binary = st.program("throws")
    return compare("throws", binary, [binary, count])


def clang():
    source = st.temporary_directory() / "file.cpp"
    source.write_text("#include <map>\n#include <string>\n#include <vector>\nint main() { std::map<std::string, "
                      "std::vector<int>> m; "
                      'm["a"].push_back(1); return m.size() - 1; }\n')
    library = pathlib.Path(st.installed("clang-19", "/usr/lib/llvm-19/bin")).resolve().parent.parent / "lib/libclang-cpp.so.19.1"
    return compare("clang", library.resolve() if library.exists() else "clang",
                   ["/usr/lib/llvm-19/bin/clang", "-S", "-O1", "-o", "-", source])


def python():
    binary = "/usr/bin/python3.11"
    if subprocess.run([binary, "-c", "import test.test_grammar"], capture_output=True).returncode:
        st.skip("libpython3.11-testsuite is not installed")
    tests = ["test_grammar", "test_json", "test_re", "test_generators", "test_exceptions", "test_dict", "test_list",
             "test_struct",
             "test_string", "test_coroutines"]
    return compare("python", binary, [binary, "-m", "test", "-q", *tests],
                   volatile=[r"load avg: \S+", r"(?m)^Total duration.*$", r"(?m)^.*(in \d.*sec|slow|duration).*$"])


def rust():
    directory = st.temporary_directory()
    rustc = st.installed("rustc", str(pathlib.Path.home() / ".cargo/bin"))
    subprocess.run([rustc, "-g", "-O", "-o", directory / "panics", HERE / "panics.rs"], check=True, timeout=300)
    return compare("rust", directory / "panics", [directory / "panics", 2000])


def go():
    directory = st.temporary_directory()
    subprocess.run([st.installed("go", "/usr/lib/go-1.19/bin"), "build", "-o", directory / "goroutines", HERE / "goroutines.go"],
                   check=True, timeout=600)
    return compare("go", directory / "goroutines", [directory / "goroutines", 200])


def under_load(name, pid, binary, load, returns=True):
    session = st.Session("-e", script(binary, returns), "-x", pid).attached(pid, 120)
    output = load()
    result = session.stop(timeout=120)
    counts = re.search(r"probed (\d+) (\d+)", result.out)
    st.expect_true(counts is not None and result.status == 0, f"{name}\n{result}")
    print(f"{name}: {counts[1]} entries, {counts[2]} returns; {output}", flush=True)
    return int(counts[1]), int(counts[2])


def redis():
    server = st.Redis(st.debian_source_program("redis-server"))

    def load():
        benchmark = server.benchmark("-n", 100000, "-t", "set,get,lpush,lrange,zadd,mset")
        st.expect(benchmark.wait(900), 0, "redis-benchmark's status")
        return f"{server.command('dbsize')} keys"
    counts = under_load("redis", server.pid, st.debian_source_program("redis-server"), load)
    st.expect_untouched(server.pid)
    return counts


def postgres():
    server = st.Postgres()
    server.pgbench("-i", "-s", "1", "-q")

    def load():
        return next(line for line in server.pgbench("-c", "2", "-j", "1", "-t", "1000").splitlines() if "tps" in line)
    counts = under_load("postgres", server.pid, server.tools / "postgres", load)
    st.expect(server.sql("select count(*) from pgbench_accounts"), "100000", "accounts")
    st.expect_untouched(server.pid)
    return counts


JAVASCRIPT = r"""
const { Worker, isMainThread, parentPort } = require('worker_threads');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
if (isMainThread) {
  const a = [], m = new Map();
  for (let i = 0; i < 100000; i++) a.push((i * 7919) % 100003);
  a.sort((x, y) => x - y);
  for (const x of a) m.set(x, (m.get(x) || 0) + 1);
  let sum = 0, ticks = 0, ended = 0;
  for (const [k, v] of m) sum += k * v;
  console.log(sum, fib(24), JSON.stringify(a).length, /(\d+),\1/.test(JSON.stringify(a)));
  try { null.x } catch (e) { console.log(e.message) }
  try { (function f() { f() })() } catch (e) { console.log(e.message) }
  const after = () => require('child_process').execFile('/bin/echo', ['child'], (e, o) => console.log(o.trim()));
  const timer = setInterval(() => { if (++ticks == 20) { clearInterval(timer); console.log('ticks'); start(); } }, 1);
  const start = () => { for (let i = 0; i < 2; i++) {
    const worker = new Worker(__filename);
    worker.on('message', n => console.log('worker', n)).on('exit', () => { if (++ended == 2) after(); });
  } };
} else parentPort.postMessage(fib(22));
"""


def node():
    binary = pathlib.Path(st.installed("node")).resolve()
    source = st.temporary_directory() / "run.js"
    source.write_text(JAVASCRIPT)
    compare("node, entries", binary, [binary, source], returns=False)
    return compare("node, all", binary, [binary, source])


JAVA = r"""
import java.util.*; import java.util.stream.*;
public class Run {
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  static int deep(int n) { return deep(n + 1) + 1; }
  public static void main(String[] a) throws Exception {
    Map<Integer, Integer> m = new HashMap<>();
    for (int i = 0; i < 300000; i++) m.merge(i % 1000, i, Integer::sum);
    System.out.println(m.values().stream().mapToInt(x -> x).sum() + " " + fib(27));
    int nulls = 0;
    for (int i = 0; i < 50000; i++) {
      Object o = i % 3 == 0 ? null : a;
      try { o.hashCode(); } catch (NullPointerException e) { nulls++; }
    }
    Thread[] t = new Thread[4];
    for (int i = 0; i < 4; i++) {
      t[i] = new Thread(() -> {
        List<String> l = new ArrayList<>();
        for (int k = 0; k < 100000; k++) { l.add("x" + k); if (l.size() > 1000) l.clear(); }
      });
      t[i].start();
    }
    for (Thread x : t) x.join();
    System.gc();
    try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow " + nulls); }
    System.out.println(IntStream.range(0, 1000).parallel().map(x -> x * x).sum());
  }
}
"""


def java():
    home = pathlib.Path(st.installed("javac")).resolve().parents[1]
    directory = st.temporary_directory()
    (directory / "Run.java").write_text(JAVA)
    subprocess.run([home / "bin/javac", "-d", directory, directory / "Run.java"], check=True, timeout=300)
    command = [home / "bin/java", "-cp", directory, "Run"]
    compare("java, the C library", libc(), command)
    return compare("java, entries", home / "lib/server/libjvm.so", command, returns=False)


def libc():
    return subprocess.run(["sh", "-c", "ldd /bin/sh | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p'"], capture_output=True,
                          text=True).stdout.strip()


POOL = """
import multiprocessing as m
def square(n): return n * n
if __name__ == '__main__':
    for way in ('fork', 'forkserver', 'spawn'):
        with m.get_context(way).Pool(3) as pool: print(way, sum(pool.map(square, range(200))))
"""


def children():
    directory = st.temporary_directory()
    (directory / "pool.py").write_text(POOL)
    (directory / "file.c").write_text('#include <stdio.h>\n#include <math.h>\nint main() { printf("%f", sin(1)); }\n')
    (directory / "Makefile").write_text("all: " + " ".join(f"t{i}" for i in range(20))
                                        + "\n\t@cat t*\nt%:\n\t@echo $@ | sed s/t/x/ > $@\n")
    commands = {
        "pipelines": "for i in 1 2 3; do seq 100 | sort -rn | tr 1 x | head -20 | tail -3 | cat | cat | cat; "
                     "(exit $i); done; true",
        "gcc": f"gcc -O1 -S -o - {directory}/file.c | grep -v ident && gcc -o {directory}/a.out {directory}/file.c -lm && "
               f"{directory}/a.out",
        "make": f"make -s -B -j4 -C {directory} | sort",
        "git": f"cd $(mktemp -d) && git init -q . && for i in 1 2 3; do echo $i > f && git add f && git -c user.name=n -c "
               f"user.email=e "
               "commit -qm c$i; done && git log --format=%s && git gc -q && git fsck 2>/dev/null && git cat-file -p HEAD:f "
               "&& rm -rf $PWD",
        "multiprocessing": f"/usr/bin/python3 {directory}/pool.py",
    }
    totals = [compare(name, libc(), ["sh", "-c", command]) for name, command in commands.items()
              if subprocess.run(["sh", "-c", f"command -v {command.split()[0]}"], capture_output=True).returncode == 0
              or name in ("pipelines", "git")]
    return tuple(map(sum, zip(*totals)))


def openssl():
    binary = st.installed("openssl")
    library = subprocess.run(["sh", "-c", f"ldd {binary} | sed -n 's/.*=> \\(.*libcrypto[^ ]*\\) .*/\\1/p'"],
                             capture_output=True, text=True)
    data = st.temporary_directory() / "data"
    data.write_bytes(bytes(range(256)) * 4096)
    command = ("for c in aes-128-cbc chacha20 aes-256-ctr camellia-128-cbc; do openssl enc -$c -K 00112233445566778899aabbccddeeff "
               f"-iv 00112233445566778899aabbccddeeff -in {data} 2>/dev/null | openssl sha256; done; "
               f"for d in md5 sha1 sha512 sha3-256 blake2b512; do openssl dgst -$d < {data}; done; "
               "openssl prime -hex 1fffffffffffffff; "
               "openssl genrsa 2048 2>/dev/null | openssl rsa -check -noout 2>&1")
    return compare("openssl", pathlib.Path(library.stdout.strip()).resolve(), ["sh", "-c", command])


def bash():
    script = st.temporary_directory() / "script"
    script.write_text('f() { local n=$1; ((n < 2)) && { echo $n; return; }; echo $(( $(f $((n-1))) + $(f $((n-2))) )); }\n'
                      'f 9; declare -A a; for i in {1..2000}; do a[$((i % 37))]+=x; s=${s}${i:0:1}; done; echo ${#a[5]} '
                      '${#s} ${s//1/}\nwhile read -r l; do [[ $l =~ ([0-9]+)5 ]] && echo ${BASH_REMATCH[1]}; done < <(seq 300); '
                      'trap "echo bye" EXIT\n')
    return compare("bash", "/usr/bin/bash", ["/usr/bin/bash", script])


def perl():
    code = (r'my %h; $h{$_ % 97} .= "x$_" for 1..20000; my $s = join ",", map { length $h{$_} } sort keys %h; print "$s\n"; '
            r'eval { die { code => 7 } }; print $@->{code}, "\n"; $_ = "abc" x 1000; my $n = () = /b(?=c)/g; print "$n\n"; '
            r'print `echo child`; if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\n" } else { exit 3 }')
    return compare("perl", pathlib.Path(st.installed("perl")).resolve(), ["perl", "-e", code])


def busybox():
    binary = st.installed("busybox")
    return compare("busybox", libc(),
                   [binary, "sh", "-c",
                    "seq 200 | busybox sort -rn | busybox awk '{s+=$1} END {print s}'; busybox sha256sum /etc/passwd"])


SUITES = [sqlite3, throws, rust, go, clang, redis, postgres, python, node, java, children, openssl, bash, perl, busybox]

if __name__ == "__main__":
    failed = []
    for suite in [s for s in SUITES if not sys.argv[1:] or s.__name__ in sys.argv[1:]]:
        try:
            suite()
        except SystemExit as end:
            if end.code != 77:
                failed.append(suite.__name__)
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)
