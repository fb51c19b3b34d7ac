# --otlp of trace, snap and of documents of trace sends calls to a collector as spans: as many as there were calls, each within
# its parent, a trace for each outermost call, with arguments and results.
from otlptest import *

port = free_port()
server_of_test = serve(port)
URL, CALLS = f"--otlp=http://127.0.0.1:{port}", program("calls")
fibonacci = lambda n: n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def traces():
    found = {}
    for span in spans(Collector.taken):
        found.setdefault(span["trace"], []).append(span)
    Collector.taken.clear()
    expect(set(Collector.seen), {("/v1/traces", "application/x-protobuf")})
    return found


def check(found, has_values):
    """fibonacci(15) makes 1973 calls of itself; greet() is called once."""
    expect(sorted(len(trace) for trace in found.values()), [1, 1973])
    for trace in found.values():
        by_id = {span["id"]: span for span in trace}
        expect((len(by_id), sum(span["parent"] is None for span in trace)), (len(trace), 1), "IDs, roots")
        for span in trace:
            attributes, parent = span["attributes"], by_id.get(span["parent"])
            expect((span["resource"]["service.name"], span["resource"]["host.name"], attributes["thread.id"],
                    attributes["thread.name"]), ("spile", socket.gethostname(), attributes["process.pid"], "calls"))
            expect_true(0 < span["begin"] <= span["end"] <= time.time_ns(), "times")
            expect_true(not parent or parent["begin"] <= span["begin"] and span["end"] <= parent["end"],
                        "a call is within its parent")
            expect(span["name"], "greet" if len(trace) == 1 else "fibonacci")
            if has_values and len(trace) > 1:
                n = int(attributes["call.n"], 0)
                expect_true(not parent or int(parent["attributes"]["call.n"], 0) - n in (1, 2), "its parent is the caller")
                expect(int(attributes["call.result"], 0), fibonacci(n))


spile("trace", "fibonacci", "greet", URL, "-c", f"{CALLS} 10").expect(status=0, err="", out_match=r"\Afoo 145\n")
check(traces(), True)
folder = temporary_directory()
spile("record", "trace", "fibonacci", "greet", "-c", f"{CALLS} 10", "-o", folder / "x.spile-run").expect(status=0, err="")
expect(Collector.taken, [], "a document's calls are not sent meanwhile")
Collector.seen.clear()
spile("report", folder / "x.spile-run", URL).expect(status=0, out="", err="")
kinds = {path for path, _ in Collector.seen}
expect(kinds, {"/v1/metrics", "/v1/traces"})
ticks = Collector.seen.count(("/v1/metrics", "application/x-protobuf"))
Collector.seen[:], Collector.taken[:] = Collector.seen[ticks:], Collector.taken[ticks:]
check(traces(), True)

# A snapshot of the end has all; with -o it goes to the file as well.
spile("snap", "fibonacci", "greet", URL + "/v1/traces", "-o", folder / "x.json", "-c", f"{CALLS} 10", "--last",
      "60s").expect(status=0, err_match="1,974 calls")
check(traces(), False)
expect_true("fibonacci" in (folder / "x.json").read_text(), "the file")

server_of_test.shutdown()
server_of_test.server_close()
spile("trace", "greet", URL, "-c",
      f"{CALLS} 10").expect(status=0, err_match=r"^WARNING: messages of spans not delivered to "
                                                r"http://127\.0\.0\.1:\d+/v1/traces: 1 \(Connection refused\)$")
spile("trace", "greet", URL, "--json", "-c", f"{CALLS} 10").expect(status=1,
                                                                   err_match="--otlp and --json are two forms of output")
