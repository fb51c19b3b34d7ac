# --kafka sends what a script prints to Kafka: a record for each event, keyed by host and process, as many as there were calls,
# those of a process in order. The brokers are librdkafka's mock cluster. Slow, absent and silent brokers cost nothing but a
# warning with counts, and never keep spile from ending.
import json, threading
from spiletest import *

HOST = os.uname().nodename
CALLS = 5000


class Brokers:
    """A cluster that a test's program plays, and what came to its topic."""

    def __init__(self, *arguments):
        self.process = start(program("kafka_broker"), *arguments, stdin=subprocess.PIPE)
        self.address = next(line for line in self.process.stdout if line.startswith(b"ready")).decode().split()[1]
        self.records = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line[:1].isdigit():
                self.records.append(line.decode().rstrip("\n").split(" ", 2))

    def await_records(self, count):
        wait_until(lambda: len(self.records) >= count, 60, f"{count} records", lambda: f"{len(self.records)} came")
        time.sleep(0.2)  # for more than there should be
        expect(len(self.records), count)
        return [(partition, key, json.loads(value)) for partition, key, value in self.records]


# Two processes with two threads each, one after the other: slots in spile's memory are used by both.
SCRIPT = ('probe process("%s").function("foo") { printf("foo %%d of %%s \\"ä\\"\\n", $arg, execname()) } '
          'probe end { println("done") }' % program("calls"))
brokers = Brokers()
command = f"sh -c '{program('calls')} {CALLS} 2; {program('calls')} {CALLS} 2'"
run = spile(f"--kafka={brokers.address}/events", "-e", SCRIPT, "-c", command, "-s", 16)
run.expect(status=0, err="")
expect_true(" of " not in run.out, "events are not printed, too")
records = brokers.await_records(4 * CALLS + 1)
[last] = [(key, value) for _, key, value in records if value["text"] == "done"]
expect((last[0], last[1]["host"], "pid" in last[1], last[1]["probe"]), (HOST, HOST, False, "end"))
by_key = {}
for partition, key, value in records:
    if key != HOST:
        by_key.setdefault(key, []).append((partition, value))
expect(len(by_key), 2, "processes")
for key, events in by_key.items():
    expect((key, len({partition for partition, _ in events})), (f"{HOST}/{events[0][1]['pid']}", 1),
           "a process has a key and a partition")
    times = [value["time"] for _, value in events]
    expect(times, sorted(times), "order of time")
    expect(sorted(value["values"][0] for _, value in events), sorted([*range(CALLS)] * 2), "each call of both threads, once")
    value = events[0][1]
    expect((list(value), value["values"][1], value["text"]),
           (["time", "host", "pid", "tid", "cpu", "probe", "text", "values"], "calls", f'foo {value["values"][0]} of calls "ä"'))

# A document has the same events, and a slow cluster (each answer takes 200 ms) all of them.
slow, document = Brokers(200), temporary_directory() / "x.spile-run"
COUNT = 'probe timer.ms(1) { printf("n %d\\n", n++); if (n == 100) exit() } global n'
spile("record", "-e", COUNT, f"--kafka={slow.address}/events", "-o", document).expect(status=0, err="")
expect(sorted(value["values"][0] for _, _, value in slow.await_records(100)), [*range(100)])
expect(sum('"kind":"event"' in line for line in spile("report", document, "--json").expect(status=0).out.splitlines()), 100)

# Nobody listens; somebody listens and never answers; more than there is room for; a topic that brokers reject.
absent, silent = free_port(), socket.create_server(("127.0.0.1", 0))
for address, why in [(f"127.0.0.1:{absent}", "Connection refused"),
                     (f"127.0.0.1:{silent.getsockname()[1]}", "the run has ended")]:
    began = time.monotonic()
    spile(f"--kafka={address}/events", "-e", COUNT).expect(
        status=0, out="", err_match=rf"^WARNING: events not delivered to Kafka at {address}/events: 100 of 100 \(.*{why}.*\)$")
    expect_true(time.monotonic() - began < 60, "it ends")
spile(f"--kafka=127.0.0.1:{absent}/events,queue.buffering.max.messages=10", "-e", COUNT).expect(status=0, err_match="100 of 100")

# Other runs need no librdkafka, and a machine without it is told which package has it.
needed = subprocess.run(["readelf", "-d", SPILE], capture_output=True, text=True, check=True).stdout
expect_true("libelf" in needed and "rdkafka" not in needed, needed)
without = subprocess.run(
    ["unshare", "-m", "sh", "-c", 'for f in $(ls /usr/lib/*/librdkafka.so.1); do mount --bind /dev/null $f; done; exec "$@"',
     "sh", SPILE, "--kafka=h/t", "-e", "probe begin { exit() }"], capture_output=True, text=True)
if os.geteuid() == 0:
    expect_match(r"^spile: --kafka needs librdkafka: .*\n  hint: apt install librdkafka1$", without.stderr)

for wrong, why in [("x", "not brokers and a topic"), ("/t", "not brokers"), ("a,,b/t", "not brokers"), ("h/", "not brokers"),
                   ("h/a b", "not brokers"), ("h/t,x", "'x' is not a property"),
                   ("h/t,no.such=1", "No such configuration property")]:
    spile(f"--kafka={wrong}", "-e", "probe begin { exit() }").expect(status=1,
                                                                     err_match=f"--kafka {re.escape(wrong)}: .*{why}.*\n  hint: ")
for other in [["-b"], ["--json"], ["-o", "x"]]:
    spile("--kafka=h/t", *other, "-e",
          "probe begin { exit() }").expect(status=1, err_match=f"--kafka and {other[0]} can't be used together")
spile("--kafka=h/t", "top", "foo", "-c", program("calls")).expect(status=1, err_match="--kafka is for scripts")
