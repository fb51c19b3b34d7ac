# `spile snap`: the calls before a slow one, in a program that calls in a known way, in each form of file; calls that were
# overwritten, calls that still run, coroutines, conditions, signals; postgres under load, whose calls are within those that its
# stacks say; wrong words.
# long
import collections, json
from spiletest import *

sys.path.append(str(ROOT / "tests/perfetto"))
from reader import PerfettoTrace

folder = temporary_directory()
out = folder / "a.pftrace"
functions = ["serve", "work", "inner"]


def nested_in(track, names):
    """By name of the function, how often which one was around it."""
    parents = collections.Counter()
    for s in track.slices:
        parents[s.name, track.slices[s.parent].name if s.parent is not None else None] += 1
    expect_true({name for name, _ in parents} <= set(names), parents)
    return parents


# The slow call is the last of the first thread; serve() still runs.
# (No other call takes a second: a busy machine stops a thread for less.)
snap = ["snap", "--when", "work > 1s"]
took = r"^snap: work took (1\.[5-9]|[2-9])\d*(\.\d+)? s in thread \d+: "
spile(*snap, "--last", "60s", *functions, "-o", out, "-c", f"{program('slow_call')} 2000 1500 3").expect(
    status=0, out="done\n", err_match=took)
trace = PerfettoTrace(out)
main = next(t for t in trace.threads().values() if t.descriptor.thread.pid == t.descriptor.thread.tid)
expect(nested_in(main, functions), {("serve", None): 1, ("work", "serve"): 1501, ("inner", "work"): 3 * 1501})
serve = main.slices[0]
expect((serve.name, serve.arguments.get("cut")), ("serve", "end"))
slow = max((s for s in main.slices if s.name == "work"), key=lambda s: s.end - s.begin)
expect_true(1500e6 <= slow.end - slow.begin < 60e9 and slow == [s for s in main.slices if s.name == "work"][-1], slow)
inner = [s for s in main.slices if s.name == "inner"][-3:]
expect_true(inner[1].end - inner[1].begin >= 1500e6 and all(slow.begin < s.begin <= s.end < slow.end for s in inner), inner)
expect_match(r"^work took [1-9]\S* s$", main.instants[0].name)
for track in trace.threads().values():
    parents = nested_in(track, functions)
    expect_true(parents["work", None] == parents["inner", None] == parents["work", "work"] == parents["inner", "serve"] == 0, parents)
expect_true(all(s.end <= serve.end for t in trace.threads().values() for s in t.slices), "nothing later")

# A short time: calls that began before it are cut off there.
spile(*snap, "--last", "1300ms", *functions, "-o", out, "-c", f"{program('slow_call')} 20 15 1").expect(status=0, err_match=took)
track = next(iter(PerfettoTrace(out).threads().values()))
wanted = collections.Counter({("serve", None): 1, ("work", "serve"): 1, ("inner", "work"): 2})
expect_true(nested_in(track, functions) <= wanted, track.slices)
for s in track.slices[:2]: expect_match(" before$", s.arguments["began"])
expect([s.arguments["cut"] for s in track.slices[:2]], ["begin, end", "begin"])

# Overwritten calls: there is room for 1,023, each one is within the right one, and serve() is around them,
# which runs until the snapshot has been taken. (Where it ends before, its own call takes the place of one more.)
os.mkfifo(folder / "held")
held = os.open(folder / "held", os.O_RDWR)
session = Session(*snap, "--last", "60s", "-D", "MAXNOTEDCALLS=1024", *functions, "-o", out,
                  "-c", f"{program('slow_call')} 33000 32000 1 <{folder}/held")
session.wait_message(took)
os.write(held, b"x")
session.wait().expect(status=0, out="done\n", err_match=
                      r"WARNING: 1 thread of snapshots with less than --last, the least \d+(\.\d+)? m?s: earlier calls were overwritten")
track = next(iter(PerfettoTrace(out).threads().values()))
expect(nested_in(track, functions), {("serve", None): 1, ("work", "serve"): 256, ("inner", "work"): 767})
expect(track.slices[0].arguments["cut"], "end")
expect_true(any("overwritten" in i.name for i in track.instants), track.instants)

# Other forms; conditions at the call and at the return; by a signal and at the end.
spile("snap", "--when", "inner if $round == 7 && $turn == 2", *functions, "-o", folder / "a.speedscope.json", "-c", f"{program('slow_call')} 20 -1 1").expect(status=0, err_match=r"^snap: inner if \$round == 7")
speedscope = json.loads((folder / "a.speedscope.json").read_text())
expect([f["name"] for f in speedscope["shared"]["frames"]], ["serve", "work", "inner"])
opened = 0
for event in speedscope["profiles"][0]["events"]:
    opened += 1 if event["type"] == "O" else -1
    expect_true(0 <= opened <= 3, event)
expect(sum(e["frame"] == 1 and e["type"] == "O" for e in speedscope["profiles"][0]["events"]), 8)
spile("snap", "--when", "work.return if $return == 3 * $round + 4 && $round == 5", *functions, "-o", folder / "a.json", "-c", f"{program('slow_call')} 20 -1 1").expect(status=0)
chrome = json.loads((folder / "a.json").read_text())["traceEvents"]
expect(sum(e["ph"] == "B" and e["name"] == "work" for e in chrome), 6)
expect(sum(e["ph"] == "B" for e in chrome), sum(e["ph"] == "E" for e in chrome))
text = spile("snap", "--when", "work > 10s", *functions, "-c", f"{program('slow_call')} 2 -1 1").expect(status=0, err_match="WARNING: nothing met --when 'work > 10s': the snapshot is of the end").out
expect_match(r"^ +\d+(\.\d+)? [nu]s \|     inner$", text)
expect(text.count("work {"), 2)
expect_match(r"^------ slow_call \d+ ------$", text)
target = start(program("slow_call"), "100000000", "-1", "2", stdin=subprocess.PIPE)
session = Session("snap", "--count", "2", *functions, "-o", out, "-x", target.pid).attached(target.pid)


def run_times():  # of each thread, in ns
    threads = pathlib.Path(f"/proc/{target.pid}/task").iterdir()
    return {thread.name: int((thread / "schedstat").read_text().split()[0]) for thread in threads}


# On a busy machine one thread may not have run yet since spile came.
begun = run_times()
wait_until(lambda: all(now > begun[thread] + 1e6 for thread, now in run_times().items()), 30, "both threads run")
session.process.send_signal(signal.SIGUSR1)
session.wait_message("^snap: SIGUSR1: ")
session.process.send_signal(signal.SIGUSR1)
session.wait().expect(status=0)
expect_untouched(target.pid)
tracks = PerfettoTrace(out).threads().values()
expect(len(tracks), 2)
for track in tracks: nested_in(track, functions)

# Coroutines: those that are left and entered in between are on tracks of their own, none within another's call.
spile("snap", "step", "yield", "-o", out, "-c", f"{program('coroutines')} 30").expect(status=0)
for track in PerfettoTrace(out).tracks.values():
    for s in track.slices:
        expect_true(s.parent is None or (s.name, track.slices[s.parent].name) == ("yield", "step"), s)

# Wrong words.
for words, message in [(["--when", "work"], "not a condition\n.*'f > 5ms'"), (["--when", "work > 5"], "--when 5"), (["--when", "> 5ms"], "names no function"),
                       (["--when", "f if "], "expression behind .if. is missing"), (["--last", "0s"], "not from 1ns"), (["--count", "0"], "not a number from 1"), (["--json"], "no option --json")]:
    spile("snap", *words, *functions, "-c", "true").expect(status=1, err_match=message)
spile("snap").expect(status=1, err_match="snap needs the processes to look at")
expect_match(r"call_history_add\(@entry\(get_cycles\(\)\)\)", spile("--script", "snap", "f", "--when", "f > 1ms", "-c", "true").expect(status=0).out)
