#!/usr/bin/env python3
"""Real programs with all of their functions probed, entry and return: what they write must be what they write un-probed.

    tools/torture/suites.py [NAME...]     all by default; those whose programs are not installed are skipped, saying why

    sqlite3    a long script of SQL            clang     clang-19 compiles a file that uses much of the C++ library
    throws     C++ exceptions                  python    python3 runs some of its own tests, all functions of the
    rust       panics, caught (rustc)                    interpreter probed (libpython3.11-testsuite)
    go         goroutines and panics (golang); entries only: returns are refused with a reason
    redis      redis-benchmark                 postgres  pgbench, all functions of all backends probed
"""
import pathlib
import re
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
    shell = " ".join("'" + str(word) + "'" for word in command)
    start = time.monotonic()
    plain = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
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
    print(f"{name}: same output; {entries} entries, {left} returns; {middle - start:.1f} s, probed {took:.1f} s; {warnings} warnings",
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
    source.write_text("#include <map>\n#include <string>\n#include <vector>\nint main() { std::map<std::string, std::vector<int>> m; "
                      'm["a"].push_back(1); return m.size() - 1; }\n')
    library = pathlib.Path(st.installed("clang-19", "/usr/lib/llvm-19/bin")).resolve().parent.parent / "lib/libclang-cpp.so.19.1"
    return compare("clang", library.resolve() if library.exists() else "clang",
                   ["/usr/lib/llvm-19/bin/clang", "-S", "-O1", "-o", "-", source])


def python():
    binary = "/usr/bin/python3.11"
    if subprocess.run([binary, "-c", "import test.test_grammar"], capture_output=True).returncode:
        st.skip("libpython3.11-testsuite is not installed")
    tests = ["test_grammar", "test_json", "test_re", "test_generators", "test_exceptions", "test_dict", "test_list", "test_struct",
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
    subprocess.run([st.installed("go"), "build", "-o", directory / "goroutines", HERE / "goroutines.go"], check=True, timeout=600)
    entries = compare("go", directory / "goroutines", [directory / "goroutines", 200], returns=False)
    refused = st.spile("-e", f'probe process("{directory}/goroutines").function("main.*").return {{ }}',
                       "-c", f"{directory}/goroutines 2")
    st.expect_true("Go's runtime moves stacks" in refused.err, f"returns of Go programs are refused with the reason\n{refused}")
    return entries


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


SUITES = [sqlite3, throws, rust, go, clang, redis, postgres, python]

if __name__ == "__main__":
    failed = []
    for suite in [s for s in SUITES if not sys.argv[1:] or s.__name__ in sys.argv[1:]]:
        try:
            suite()
        except SystemExit as end:
            if end.code != 77:
                failed.append(suite.__name__)
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)
