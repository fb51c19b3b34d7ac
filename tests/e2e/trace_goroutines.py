# Calls of Go functions in `spile trace`: a goroutine goes on on any thread, and its stack moves as it grows; each return still
# belongs to its call.
import json

from spiletest import *

binary = program("go_calls")
ROUNDS = 300
lines = temporary_directory() / "calls.json"
result = spile("trace", "main.*", "--depth=500", "--json", "-s", "64", "-o", lines, "-c", f"{binary} {ROUNDS}").expect(
    status=0)
counts = re.search(r"works (\d+) grow (\d+) (\d+) throws (\d+) (\d+) quit (\d+) (\d+)", result.out)
expect_true(counts is not None, f"the program says what it did: {result.out[-300:]}")
works, _, _, throws, thrown, quits, left = (int(n) for n in counts.groups())
rows = [json.loads(line) for line in lines.read_text().splitlines()]
wanted = {"throws": (throws, thrown), "quit": (quits, left), "main": (1, 1), "work": (works, works)}
for name, (calls, returns) in wanted.items():
    mine = [row for row in rows if row["function"] == f"main.{name}"]
    expect((len(mine), sum(row["end"] == "returned" for row in mine)), (calls, returns), f"calls and returns of main.{name}")
# It calls itself, deeper than what is shown.
grown = {row["end"] for row in rows if row["function"] == "main.grow"}
expect(grown, {"returned"}, "how calls of main.grow end")
# The program ends when it has all results, which the goroutines send from a deferred function as they end.
runs = {row["function"] for row in rows if row["end"] == "runs"}
expect_true(runs <= {"main.quit", "main.main.func1", "main.main.func1.1", "main.main.func2"}, f"calls that still run: {runs}")
expect_true(not re.search("are not shown", result.err), result.err)
# A call lies within the one that made it, and both are one goroutine's.
by_id = {row["id"]: row for row in rows}
inner = [(row, by_id[row["parent"]]) for row in rows if row.get("parent")]
expect_true(len(inner) > works, f"{len(inner)} calls are made by others")
for row, outer in inner:
    expect((row["flow"], row["pid"]), (outer["flow"], outer["pid"]), f"{row} of {outer}")
    expect_true(outer["begin_ns"] <= row["begin_ns"], f"{row} began before {outer}")
expect_true(len({row["flow"] for row in rows}) > 1, "several goroutines")

# As text: whole trees, whose threads' lines name the goroutine.
shown = spile("trace", "main.work", "-s", "64", "-c", f"{binary} {ROUNDS}").expect(status=0)
expect_true(len(re.findall(r"s +\| main\.work\(", shown.out)) >= works - 1, shown.out[-500:])
expect_match(r"^------ go_calls \d+, goroutine \d+ ------$", shown.out)
expect_true("still run" not in shown.out, "calls that still run at the end")
