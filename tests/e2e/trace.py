# `spile trace` of functions of a process: the calls of sqlite3 by number and by who calls whom, against a script's counts and the
# stacks; threads, exits and exceptions; depth, time, JSON; wrong words.
import collections, json
from spiletest import *

sys.path.append(str(ROOT / "tests/perfetto"))
from reader import PerfettoTrace

SQLITE = debian_source_program("sqlite3")
statements = temporary_directory() / "q.sql"
statements.write_text("""create table t(a, b); create index i on t(a);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 100) insert into t select x, x * 7 % 13 from c;
select count(*), sum(b) from t where a > 50; delete from t where b = 3;
select group_concat(b) from (select b from t order by b limit 5);
""")
command = f"{SQLITE} :memory: '.read {statements}'"
functions = ["sqlite3Btree*", "sqlite3Pager*", "sqlite3VdbeExec", "sqlite3_step"]


def trace(*words):
    return spile("trace", *words, "-c", command).expect(status=0, err="")


# Counts of calls, and of calls by whom, as the stacks have them. A function that another one jumps to as its last act is that
# one's callee in the tree, and its caller's on the stack.
points = ", ".join(f'process.function("{f}").call' for f in functions)
counted = spile("-e", f"""global c, e probe {points} {{ c[ppfunc()]++
  for (i = 1; i < 12; i++) {{ n = usymname(ustack(i));
    if (n =~ "^(sqlite3Btree|sqlite3Pager|sqlite3VdbeExec$|sqlite3_step$)") {{ e[n, ppfunc()]++; break }} }} }}
probe end {{ foreach (f in c) printf("count %s %d\\n", f, c[f]) foreach ([f, g] in e) printf("edge %s %s %d\\n", f, g,
  e[f, g]) }}""", "-c", command)
calls = {m[1]: int(m[2]) for m in re.finditer(r"^count (\S+) (\d+)$", counted.out, re.M)}
stacks = {(m[1], m[2]): int(m[3]) for m in re.finditer(r"^edge (\S+) (\S+) (\d+)$", counted.out, re.M)}
records = [json.loads(line) for line in trace(*functions, "--json").out.splitlines() if line.startswith("{")]
expect(collections.Counter(r["function"] for r in records), calls, "calls of each function")
expect({r["end"] for r in records}, {"returned"})
expect_true(len(records) > 2000, f"{len(records)} calls")
by_id = {r["id"]: r for r in records}
edges = collections.Counter((by_id[r["parent"]]["function"], r["function"]) for r in records if r["parent"])
for r in records:
    parent = by_id.get(r["parent"])
    if parent: expect_true(parent["depth"] == r["depth"] - 1 and parent["begin_ns"] <= r["begin_ns"] and
                           r["begin_ns"] + r["duration_ns"] <= parent["begin_ns"] + parent["duration_ns"], f"{r} within {parent}")
different = {edge: (edges[edge], stacks.get(edge, 0)) for edge in edges | stacks if edges[edge] != stacks.get(edge, 0)}
expect_true(sum(abs(a - b) for a, b in different.values()) < 0.02 * sum(stacks.values()),
            f"other callers than the stacks say: {different}")

# The same as text.
text = [line for line in trace(*functions).out.splitlines() if " | " in line]
begun = collections.Counter(re.match(r"(\w+)\(", line.split(" | ", 1)[1].lstrip())[1] for line in text if "} " not in line)
expect(begun, calls, "calls of each function in the tree")
expect_true(any(re.fullmatch(r" +\d+\.\d{3} us \| +sqlite3BtreeBeginTrans\(p=0x[0-9a-f]+, wrflag=[01], pSchemaVersion=\S+\) = 0",
                             line) for line in text), text[:20])
expect_true(not any("sqlite3Pager" in line for line in trace("sqlite3Btree*", "sqlite3P*", "!sqlite3Pager*").out.splitlines()),
            "functions that are left out")
roots = [line for line in trace(*functions, "--depth", "1").out.splitlines() if " | " in line]
expect(len(roots), sum(r["depth"] == 1 for r in records))
expect(trace(*functions, "--over", "100s").out.count(" | "), 0)

# Threads: each one's calls by themselves.
threads = [json.loads(line) for line in spile("trace", "foo", "--json", "-c", f"{program('calls')} 50 4").expect(
    status=0).out.splitlines() if line.startswith("{")]
expect(sorted(collections.Counter(r["tid"] for r in threads).values()), [50] * 4)
expect({r["result"] - 3 * r["arguments"]["arg"] for r in threads}, {1})

# Threads that change their names before their first calls, of which each has few.
work = temporary_directory() / "names.py"
work.write_text("""import ctypes, threading
def run(i):
    ctypes.CDLL(None).prctl(15, f"worker-{i}".encode(), 0, 0, 0)
    for n in range(5): ascii(n)
for i in range(3):
    thread = threading.Thread(target=run, args=(i,)); thread.start(); thread.join()
""")
interpreter = "/usr/bin/python3.11"
if os.path.exists(interpreter):
    named = [json.loads(line) for line in spile("trace", "PyObject_ASCII", "--json", "-c", f"{interpreter} -S -E {work}").expect(
        status=0).out.splitlines() if line.startswith("{")]
    workers = collections.Counter(r["thread"] for r in named if r["tid"] != r["pid"])
    expect_true(set(workers) == {f"worker-{i}" for i in range(3)} and min(workers.values()) == 5, workers)

# A call that still runs at the end has taken nobody knows how long: _start() never returns.
runs = [record
        for record
        in map(json.loads,
               re.findall(r"^{.*", spile("trace", "*", "--depth", "1", "--json", "-c",
                                         f"{program('calls')} 1").expect(status=0).out, re.M))]
running = [record for record in runs if record["end"] == "runs"]
expect_true(running and all(("duration_ns" in record) == (record["end"] != "runs") for record in runs), runs)
# For Perfetto: the same calls as --json has, each within the right one, by a reader of the published schema.
spile("trace", *functions, "-o", statements.with_suffix(".pftrace"), "-c", command).expect(status=0, err="")
perfetto = PerfettoTrace(statements.with_suffix(".pftrace"))
slices = [s for t in perfetto.threads().values() for s in t.slices]
expect(collections.Counter(s.name for s in slices), calls, "slices of each function")
track = next(t for t in perfetto.threads().values() if t.slices)
nested = collections.Counter((track.slices[s.parent].name, s.name) for s in track.slices if s.parent is not None)
expect_true(sum(abs(nested[edge] - edges[edge]) for edge in nested | edges) == 0, f"{nested}\n{edges}")
expect_true({"result", "wrflag"} <= set(next(s for s in track.slices if s.name == "sqlite3BtreeBeginTrans").arguments),
            "arguments")
expect(perfetto.clock, 1, "of CLOCK_REALTIME")
expect_true(abs(track.slices[0].begin / 1e9 - time.time()) < 600, "times are since 1970")
spile("trace", "f", "--json", "-o", "x.pftrace", "-c", "true").expect(status=1, err_match="--json writes JSON Lines")

# Wrong words.
spile("trace", "sqlite3_stp", "-c", command).expect(status=1,
                                                    err_match="no function .sqlite3_stp..*\n.*did you mean 'sqlite3_step'")
spile("trace", "f", "--depth", "0", "-c", "true").expect(status=1, err_match="--depth 0: not a number from 1 to")
spile("trace", "-c", "true").expect(status=1, err_match="trace needs the name of a function")
spile("hist", "sched:sched_switch", "--depth", "3").expect(status=1, err_match="spile hist has no option --depth")
expect_match(r"^# spile trace 'foo'\nglobal calls\n(#.*\n)*probe process.begin(.|\n)*probe process.function",
             spile("--script", "trace", "foo", "-c", program("calls")).expect(status=0).out)

# Pointers are hexadecimal, whatever qualifies them: `this` is a constant pointer, and pointers to functions end with ")".
shapes = temporary_directory() / "shapes.cpp"
shapes.write_text("""struct Shape { int n; __attribute__((noinline)) int area(int k) const; };
int Shape::area(int k) const { asm volatile(""); return n * k; }
__attribute__((noinline)) int with(int (*call)(int), Shape* const fixed, const char* const* list, long number) {
  asm volatile("");
  return call(int(number)) + fixed->n + (list != nullptr);
}
__attribute__((noinline)) int twice(int v) { asm volatile(""); return 2 * v; }
int main() { Shape s{3}; const char* l[] = {"a"}; return s.area(4) + with(twice, &s, l, 5) != 26; }
""")
subprocess.run([installed("g++"), "-O1", "-g", shapes, "-o", shapes.with_suffix("")], check=True)
out = spile("trace", "Shape::*", "with", "-c", shapes.with_suffix("")).expect(status=0, err="").out
expect_match(r"Shape::area\(this=0x[0-9a-f]+, k=4\) = 12\n", out)
expect_match(r"with\(call=0x[0-9a-f]+, fixed=0x[0-9a-f]+, list=0x[0-9a-f]+, number=5\) = 14\n", out)
