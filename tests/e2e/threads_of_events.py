# Events have the process and the thread that they are of, also where threads and children come and go and take over each other's
# memory: in JSON Lines, documents, CSV and traces.
import csv, io, json
from spiletest import *

sys.path.append(str(ROOT / "tests/perfetto"))
from reader import PerfettoTrace

SCRIPT = 'probe process.function("step") { printf("%d %d\\n", pid(), tid()) } probe timer.ms(5) { println("tick") }'
births = program("births")


def check(events):
    """Each a list of the printed numbers, and what the event says, None: nothing."""
    calls = [event for event in events if event[0] != "tick"]
    expect([said for printed, *said in calls], [[int(word) for word in printed.split()] for printed, *_ in calls])
    expect(len(calls), 200 * 3 + 50)
    expect({tuple(said) for printed, *said in events if printed == "tick"}, {(None, None)})


out = spile("--json", "-e", SCRIPT, "-c", births).expect(status=0, err="").out
check([(event["text"], event.get("pid"), event.get("tid")) for event in map(json.loads, out.splitlines())])

document = temporary_directory() / "a"
spile("record", "-e", SCRIPT, "-o", document, "-c", births).expect(status=0, err="")
events = [event for event in map(json.loads, spile("report", document, "--json").out.splitlines()) if event["kind"] == "event"]
check([(event["text"], event.get("pid"), event.get("tid")) for event in events])
rows = [row for row in csv.DictReader(io.StringIO(spile("report", document, "--csv").out)) if row["kind"] == "event"]
check([(row["text"], *(int(row[name]) if row[name] else None for name in ("pid", "tid"))) for row in rows])

spile("report", document, "--perfetto", document.with_suffix(".pftrace")).expect(status=0)
for track in PerfettoTrace(document.with_suffix(".pftrace")).tracks.values():
    for instant in track.instants:
        if re.fullmatch(r"\d+ \d+", instant.name):
            expect([track.descriptor.thread.pid, track.descriptor.thread.tid], [int(word) for word in instant.name.split()])
