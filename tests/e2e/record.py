# `spile record` stores exactly what a script has counted and printed; documents of two runs are one with the percentiles of all
# values; what a killed spile has left is readable; damaged files are errors; wrong words.
import csv, io, json
from spiletest import *
sys.path.append(str(ROOT / "tests/perfetto"))
from reader import PerfettoTrace

folder = temporary_directory()
chance = random.Random(5)
values = [chance.randrange(1, 1000) * 7 ** (i % 6) for i in range(3000)]


def values_program(name, some):
    (folder / f"{name}.c").write_text("#include <pthread.h>\n__attribute__((noipa)) long take(long value) { return value; }\n"
        f"static const long values[] = {{{','.join(map(str, some))}}};\n"
        f"static void* run(void* first) {{ for (long i = (long)first; i < {len(some)}; i += 3) take(values[i]); return 0; }}\n"
        "int main(void) { pthread_t id[3]; for (long i = 0; i < 3; i++) pthread_create(&id[i], 0, run, (void*)i);\n"
        "  for (int i = 0; i < 3; i++) pthread_join(id[i], 0); }\n")
    subprocess.run([installed("gcc"), "-O1", "-g", "-pthread", folder / f"{name}.c", "-o", folder / name], check=True)
    return folder / name


def report(*arguments):
    lines = [json.loads(line) for line in spile("report", *arguments, "--json").expect(status=0, err="").out.splitlines()]
    return lambda kind: [line for line in lines if line["kind"] == kind]


script = """global calls, by_rest, times, of_rest, last
probe process.function("take") {
  calls++; by_rest[$value % 4, "rest"]++; times <<< $value; of_rest[$value % 2] <<< $value
  if ($value % 5 == 0) { last = sprintf("%d", $value); printf("five %d %s\\n", $value, ppfunc()) }
}
"""
(folder / "take.stp").write_text(script)
halves = [values[:1700], values[1700:]]
runs = []
for i, half in enumerate(halves):
    runs.append(folder / f"{i}.spile-run")
    spile("record", folder / "take.stp", "-o", runs[-1], "--every", "20ms", "-c",
          values_program(f"half{i}", half)).expect(status=0, out="", err="")

found = report(runs[0])
elements = {(e["global"], tuple(e.get("keys", []))): e for e in found("element")}
expect(elements["calls", ()]["value"], len(halves[0]))
expect({k[1][0]: e["value"] for k, e in elements.items() if k[0] == "by_rest"},
       {rest: sum(v % 4 == rest for v in halves[0]) for rest in range(4)})
expect({k[1][0]: (e["count"], e["sum"], e["min"], e["max"]) for k, e in elements.items() if k[0] == "of_rest"},
       {rest: (len(some), sum(some), min(some), max(some)) for rest in range(2)
        for some in [[v for v in halves[0] if v % 2 == rest]]})
fives = [e for e in found("event") if e["text"].startswith("five")]
expect(sorted(e["values"][0] for e in fives), sorted(v for v in halves[0] if v % 5 == 0))
expect({e["text"] for e in fives}, {f"five {v} take" for v in halves[0] if v % 5 == 0})
expect([e["time"] for e in fives], sorted(e["time"] for e in fives), "in order of time")
expect_true(int(elements["last", ()]["value"]) in {v for v in halves[0] if v % 5 == 0}, "a text under a lock")
probe = next(p for p in found("probe") if "take" in p["point"])
expect((probe["hits"], probe["runs_in"]), (len(halves[0]), "process"))
run = found("run")[0]
expect((run["script"], run["lost"], run["cut"], run["host"]), (script, [], False, socket.gethostname()))
expect((list(run["armed"].values()), "refused" in run["armed"], 0 < run["paused_ns"] < 10**10), ([1], False, True),
       f"how the place was armed: {run['armed']}")
identity = re.search(r"Build ID: (\w+)",
                     subprocess.run(["readelf", "-n", folder / "half0"], capture_output=True, text=True).stdout)[1]
expect({m["path"]: m["build_id"] for m in found("module")}[str(folder / "half0")], identity)
expect([m["path"] for m in found("module") if m["path"].startswith("/memfd:")], [], "code of spile is not the program's")
expect_true(len(found("tick")) >= 1 and found("tick")[-1]["globals"]["calls"] == len(halves[0]), found("tick"))


def expect_percentiles(element, some, what):
    ordered = sorted(some)
    for name, percent in [("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9)]:
        exact = ordered[max(1, -(-len(ordered) * round(10 * percent) // 1000)) - 1]
        expect_true(abs(element[name] - exact) <= exact / 128, f"{what}: {name} is {exact}, not {element[name]}")


expect_percentiles(elements["times", ()], halves[0], "one run")
merged = {(e["global"], tuple(e.get("keys", []))): e for e in report(*runs)("element")}
expect((merged["calls", ()]["value"], merged["times", ()]["count"], merged["times", ()]["sum"]), (3000, 3000, sum(values)))
expect_percentiles(merged["times", ()], values, "two runs")
buckets = {}
for value in values:
    buckets[64 + value.bit_length()] = buckets.get(64 + value.bit_length(), 0) + 1
expect(dict(map(tuple, merged["times", ()]["log_buckets"])), buckets)
rows = list(csv.DictReader(io.StringIO(spile("report", *runs, "--csv").expect(status=0, err="").out, newline="")))
expect([r["count"] for r in rows if r["kind"] == "global" and r["name"] == "times"], ["3000"])
expect(sorted(json.loads(r["values"])[0] for r in rows if r["kind"] == "event"), sorted(v for v in values if v % 5 == 0))
text = spile("report", *runs).expect(status=0, err="").out
expect_match(r"^calls = 3000$", text)
expect_match(rf"^times = n=3,000 .* p50=", text)

# Globals that only handlers use, which would be divided among threads otherwise; and those of handlers in the kernel.
spile("--rlimit-cpu=600", "record", "-e", 'probe begin { println("kept") exit() }', "-o",
      folder / "options first").expect(status=0)
spile("report", folder / "options first").expect(out_match="kept", status=0)
spile("-e", "probe begin { println(@1) exit() }", "record").expect(out="record\n", status=0)
spile("record", "-e", 'global begun, sum probe process.function("take") { begun[tid()] = $value } '
                      'probe process.function("take").return { sum += begun[tid()] }',
      "-o", folder / "own", "-c", folder / "half0").expect(status=0, err="")
own = {(e["global"], len(e.get("keys", []))): e for e in report(folder / "own")("element")}
expect(own["sum", 0]["value"], sum(halves[0]))
expect(len([e for e in report(folder / "own")("element") if e["global"] == "begun"]), 3, "an element for each thread")
if os.geteuid() == 0:
    spile("record", "-e", 'global ended, names probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) { '
                          'ended++; names[execname()]++; printf("%s\\n", execname()) } }',
          "-o", folder / "kernel", "-c", "exec true").expect(status=0, err="")
    kernel = report(folder / "kernel")
    expect([(e["global"], e.get("keys"), e["value"]) for e in kernel("element")], [("ended", None, 1), ("names", ["true"], 1)])
    expect([e["values"] for e in kernel("event")], [["true"]])
    expect_match(r"^[0-9a-f]{40}$", next(m["build_id"] for m in kernel("module") if m["path"] == "[kernel]"))

# Killed in the midst: what it has left can be read, and says so.
target = start(program("lively"), "60")
left = folder / "killed.spile-run"
tracer = start(SPILE, "record", "-e", 'global n probe process.function("step") { n++ if (n % 100 == 0) printf("%d\\n", n) }',
               "-x", target.pid, "--every", "10ms", "-o", left)


def ticks():
    result = spile("report", left, "--json")
    return [t for t in map(json.loads, result.out.splitlines()) if t["kind"] == "tick"
            and t["globals"].get("n", 0) > 0] if result.status == 0 else []


wait_until(lambda: len(ticks()) >= 3, 60, "three ticks while it records")
tracer.kill()
finish(tracer)
after = report(left)
expect_true("ended" not in after("run")[0] and len(after("tick")) >= 3 and after("element")[0]["value"] > 0, after("run"))
expect_match("the run has no end|ends within a frame", spile("report", left).expect(status=0).out)

# Cut and damaged.
whole = runs[1].read_bytes()
damaged = folder / "damaged"
for size in [*range(0, 60), *[chance.randrange(60, len(whole)) for _ in range(15)]]:
    damaged.write_bytes(whole[:size])
    expect_true(spile("report", damaged).status in (0, 1), f"the first {size} bytes")
for _ in range(25):
    at = chance.randrange(16, len(whole))
    damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])
    spile("report", damaged, "--json").expect(status=1, out="", err_match="damaged: damaged: ")
spile("report", folder / "take.stp").expect(status=1, err_match="take.stp: not a run of spile record")

# Samples.
spile("record", "flame", "--hz", "200", "-o", folder / "samples", "-c",
      f"exec {program('profiled')} 300").expect(status=0, err="")
expect_match(r"^profiled;.*;spend;seventy;burn \d+$", spile("report", folder / "samples", "--folded").expect(status=0).out)
spile("report", runs[0], "--folded").expect(status=1, err_match="has no samples")

# A verb's run has its words at the head. What has no meaning for documents is not ignored.
expect_match(rf"^{folder}/samples: spile flame --hz 200 on ", spile("report", folder / "samples").expect(status=0, err="").out)
for option in (["-x", os.getpid()], ["-T", 1], ["-c", "true"]):
    spile("report", runs[0], *option).expect(status=1, out="",
                                             err_match=f"spile report has no option {option[0]}\n  hint: see spile report --help")
(folder / "rc").write_text("-DMAXACTION=5000\n")
# the rc file is for all commands
subprocess.run([SPILE, "report", runs[0]], env={**os.environ, "SPILE_DIR": str(folder)}, stdout=subprocess.DEVNULL, check=True)
spile("record", "snap", "take", "-o", folder / "snap", "-c",
      folder / "half0").expect(status=1, out="", err_match="spile snap can't be recorded")
expect((folder / "snap").exists(), False)

# A trace for Perfetto: counters and instants, and samples.
spile("report", runs[0], "--perfetto", folder / "a.pftrace").expect(status=0, out="", err="")
tracks = PerfettoTrace(folder / "a.pftrace").tracks.values()
expect([t.values[-1][1] for t in tracks if t.descriptor.name == "calls" and t.values], [len(halves[0])])
expect(sum(i.name.startswith("five ") for t in tracks for i in t.instants), len(fives))
spile("report", folder / "samples", "--perfetto", folder / "b.pftrace").expect(status=0)
expect_true(any(("seventy" in [f[0] for f in stack]) for *_, stack in PerfettoTrace(folder / "b.pftrace").samples),
            "a sample within seventy")

# Words.
spile("record", folder / "take.stp", "-c", "true").expect(status=1, err_match="record needs the name of the file to write")
spile("record", "-o", folder / "x").expect(status=1, err_match="a script must be specified")
spile("record", "funcs", "-o", folder / "x", "ls").expect(status=1, err_match="record needs a script, or a verb that traces")
spile("record", folder / "take.stp", "-b", "-o", folder / "x", "-c",
      "true").expect(status=1, err_match="record can't be used with -b")
spile("record", folder / "take.stp", "--every", "1ns", "-o", folder / "x", "-c",
      "true").expect(status=1, err_match="--every 1ns: out of range")
spile("record", "-e", "probe begin { exit() }", "-o", "/nowhere/x").expect(status=1,
                                                                           err_match="open output file /nowhere/x: No such file")
spile("-e", 'probe begin { println(@1) exit() }', "record").expect(status=0, out="record\n")
spile("report").expect(status=1, err_match="report needs files")
shutil.copy(runs[0], folder / "copy")
spile("report", *runs, folder / "copy").expect(status=1, out="", err_match="copy is the same document as .*: its numbers would "
                                                                           "be added twice\n  hint: leave one of them out")
spile("report", runs[0], "--json", "--csv").expect(status=1, err_match="report prints one form")
