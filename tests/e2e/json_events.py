# --json of a script: an object for each printf, of handlers in processes, in spile and in the kernel, with times that are between
# those around and in order.
import calendar, json
from spiletest import *

calls = program("calls")


def events(*arguments):
    before = time.time()
    result = spile("--json", *arguments).expect(status=0, err="")
    found = [json.loads(line) for line in result.out.splitlines() if line.startswith("{")]
    times = [event["time"] for event in found]
    expect(times, sorted(times), "in order of time")
    for moment in times:
        seconds = calendar.timegm(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S")) + float(moment[19:-1])
        expect_true(before - 0.5 <= seconds <= time.time() + 0.5, f"{moment} is not now")
    return found


script = ('probe process.function("foo") { printf("arg %d of %s\\n", $arg, ppfunc()) } '
          'probe end { print("bye") println(@hist_log(s, "ns")) } global s probe begin { s <<< 5 }')
found = events("-e", script.replace(', "ns"', ""), "-c", f"{calls} 3")
calls_of_foo = [event for event in found if event["probe"].startswith("process(")]
expect([event["values"] for event in calls_of_foo], [[i, "foo"] for i in range(3)])
expect([event["text"] for event in calls_of_foo], [f"arg {i} of foo" for i in range(3)])
expect_true(all(isinstance(event["cpu"], int) and f'process("{calls}").function("foo' in event["probe"]
                for event in calls_of_foo), calls_of_foo)
ends = [event for event in found if event["probe"] == "end"]
expect((ends[0]["text"], "@" in ends[1]["text"]), ("bye", True), ends)
# Bytes that are not UTF-8, and control characters.
odd = events("-e", 'global g probe begin { g = sprintf("%c%c\\"", 255, 27) printf("%s\\n", g) exit() }')
expect(odd[0]["values"], ["\ufffd\x1b\""])
if os.geteuid() == 0:
    kernel = events("-e", 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) printf("%s\\n", execname()) }',
                    "-c", "true")
    expect([event["values"] for event in kernel], [["true"]])
folder = temporary_directory()
spile("--json", "-o", folder / "o", "-e", 'probe begin { printf("%d", 7) exit() }').expect(status=0, out="")
expect(json.loads((folder / "o").read_text())["values"], [7])
spile("--json", "-b", "-e", "probe begin { exit() }").expect(status=1, err_match="--json and -b can't be used together")
