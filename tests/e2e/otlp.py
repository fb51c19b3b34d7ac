# --otlp sends globals, hits and losses to a collector, whose messages are decoded here by the field numbers of
# opentelemetry-proto 1.x: gauges, exponential histograms with the quantiles of the values, attributes of keys. A collector that
# is away, or asks for a pause, gets them later; one that never comes costs nothing but a warning with a count, and keeps no
# handler waiting.
import http.server
import math
import re
import socket
import ssl
import threading
import time
from subprocess import DEVNULL, check_call
from otlptest import *

values = [i * i for i in range(1, 2001)]
SCRIPT = r"""global n, t, by, note, small probe begin { for (i = 1; i <= 2000; i++) t <<< i * i; t <<< 0; t <<< -5; by["k", 3] = -7; note = "x"; small[1] <<< 6; small[1] <<< 7 }
probe timer.ms(20) { n++; if (n == COUNT) exit() }"""
port = free_port()
running = Session(f"--otlp=http://127.0.0.1:{port},0.05", "-e", SCRIPT.replace("COUNT", "150"))
wait_until(lambda: running.process.poll() is None, 60, "spile to start")
Collector.refusals += [503, 429]
server_of_test = serve(port)
running.wait().expect(status=0, err_match=r"^(WARNING: timer\.ms\(20\) ran .*\n)?$")
expect(set(Collector.seen), {("/v1/metrics", "application/x-protobuf")})
expect_true(len(Collector.taken) >= 3 and not Collector.refusals, f"{len(Collector.taken)} messages")
resource, last = metrics(Collector.taken[-1])
expect((resource["service.name"], resource["host.name"]), ("spile", socket.gethostname()))
point = fields(fields(last["spile.global.n"][5][0])[1][0])
expect(signed(point[6][0]), 150, "the last message has what there was at the end")
point = fields(fields(last["spile.global.by"][5][0])[1][0])
expect((signed(point[6][0]), attributes(point[7])), (-7, {"key1": "k", "key2": 3}))
expect(attributes(fields(fields(last["spile.global.note"][5][0])[1][0])[7]), {"value": "x"})
histogram = fields(last["spile.global.t"][10][0])
expect(histogram[2], [2], "cumulative")
point = fields(histogram[1][0])
scale = zigzag(point[6][0])
expect((signed(point[4][0]), real(point[5][0]), signed(point[7][0]), real(point[12][0]), real(point[13][0])), (2002, sum(values) - 5, 1, -5.0, 4e6))
expect_true(0 < signed(point[2][0]) <= signed(point[3][0]) <= time.time_ns(), "times")
positive, negative = fields(point[8][0]), fields(point[9][0])
counts, offset, base = packed(positive[2][0]), zigzag(positive[1][0]), 2 ** 2 ** -scale
expect((sum(counts), sum(packed(negative[2][0]))), (2000, 1))
for share in (0.1, 0.5, 0.9, 0.99):
    rank, seen = math.ceil(share * 2000), 0
    for i, count in enumerate(counts):
        seen += count
        if seen >= rank:
            break
    exact = values[rank - 1]
    expect_true(base ** (offset + i) * (1 - 1 / 64) <= exact <= base ** (offset + i + 1) * (1 + 1 / 64), f"{share}: {exact} is in ({base ** (offset + i)}, {base ** (offset + i + 1)}]")
point = fields(fields(last["spile.global.small"][10][0])[1][0])
expect((zigzag(point[6][0]), zigzag(fields(point[8][0])[1][0]), packed(fields(point[8][0])[2][0]), attributes(point[1])), (0, 2, [2], {"key1": 1}), "[4, 8) of @hist_log is (4, 8]")
hits = {attributes(fields(p)[7])["probe"]: signed(fields(p)[6][0]) for p in fields(last["spile.probe.hits"][7][0])[1]}
expect(hits["timer.ms(20)"], 150)

# What was recorded can be sent later: each tick, with its time.
run = temporary_directory() / "x.spile-run"
spile("record", "-e", SCRIPT.replace("COUNT", "20"), "--every", "50ms", "-o", run).expect(status=0)
Collector.taken.clear()
spile("report", run, f"--otlp=http://127.0.0.1:{port}").expect(status=0, out="", err="")
numbers = [signed(fields(fields(metrics(m)[1]["spile.global.n"][5][0])[1][0])[6][0]) for m in Collector.taken]
expect((numbers == sorted(numbers), numbers[-1], len(numbers) >= 3), (True, 20, True), numbers)

# A collector that rejects messages, and one that never comes.
Collector.refusals += [400] * 1000
spile(f"--otlp=http://127.0.0.1:{port},0.1", "-e", SCRIPT.replace("COUNT", "20")).expect(status=0, err_match=r"^WARNING: messages of metrics rejected by http://127\.0\.0\.1:\d+/v1/metrics: [1-9]\d* \(it answered with status 400\)$")
server_of_test.shutdown()
server_of_test.server_close()
spile(f"--otlp=http://127.0.0.1:{port},0.1", "-e", SCRIPT.replace("COUNT", "20")).expect(status=0, err_match=r"^WARNING: messages of metrics not delivered to http://127\.0\.0\.1:\d+/v1/metrics: [1-9]\d* \(Connection refused\)$")


def seconds_of(run_it):
    begin = time.monotonic()
    run_it()
    return time.monotonic() - begin


# What a report and a session take where nothing is sent: on a busy machine this is not 0.
report = seconds_of(lambda: spile("report", run).expect(status=0))
session = seconds_of(lambda: spile("-e", SCRIPT.replace("COUNT", "20")).expect(status=0))
begin = time.monotonic()
spile("report", run, f"--otlp=http://127.0.0.1:{port}").expect(status=1, out="", err_match=r"^http://127\.0\.0\.1:\d+/v1/metrics: Connection refused: trying again, for 5 s in all\nWARNING: messages of metrics not delivered to .*: \d+ \(Connection refused\)$")
expect_true(4 < time.monotonic() - begin < 20 + 4 * report, "no more than 5 s where nobody listens")


def hostile(answer, hold):
    """A server that answers each request with `answer`, and then leaves the connection open, or closes it. Returns its URL."""
    listener, held = socket.create_server(("127.0.0.1", 0)), []

    def serve_all():
        while True:
            connection, _ = listener.accept()
            if hold:
                held.append(connection)
            else:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(65536)
                missing = int(re.search(rb"Content-Length: (\d+)", request)[1]) - len(request.split(b"\r\n\r\n", 1)[1])
                while missing > 0:
                    missing -= len(connection.recv(65536))
            connection.sendall(answer)
            if not hold:
                connection.close()

    threading.Thread(target=serve_all, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


# Collectors that take connections, and then: say nothing; close; talk nonsense; leave data points out, with a reason.
silent = hostile(b"", True)
begin = time.monotonic()
spile("report", run, f"--otlp={silent}").expect(status=1, out="", err_match=r"^http://127\.0\.0\.1:\d+/v1/metrics: it does not answer: trying again, for 10 s in all\nWARNING: messages of metrics not delivered to .*: \d+ \(it does not answer\)$")
expect_true(9 < time.monotonic() - begin < 14 + 4 * report, f"10 s, in the midst of a request: {time.monotonic() - begin}")
begin = time.monotonic()
spile(f"--otlp={silent},0.1", "-e", SCRIPT.replace("COUNT", "20")).expect(status=0, err_match=r"^WARNING: messages of metrics not delivered to .*: [1-9]\d* \(it does not answer\)$")
expect_true(time.monotonic() - begin < 9 + 4 * session, f"no request is waited for at the end: {time.monotonic() - begin}")
spile(f"--otlp={hostile(b'', False)},0.1", "-e", SCRIPT.replace("COUNT", "20")).expect(status=0, err_match=r"not delivered to .* \(it ended the connection without a whole answer\)$")
for hold in (True, False):
    spile("report", run, f"--otlp={hostile(b'220 mail.example.com ESMTP' + bytes([13, 10]), hold)}").expect(status=1, err_match=r"^WARNING: messages of metrics rejected by .*: \d+ \(its answer is not HTTP\)$")
partial = b"\x0a\x0f\x08\x07\x12\x0btoo old\x1b[2J"
spile("report", run, f"--otlp={hostile(b'HTTP/1.1 200 OK' + bytes([13, 10]) + b'Content-Length: %d' % len(partial) + bytes([13, 10, 13, 10]) + partial, False)}").expect(
    status=1, err_match=r"^WARNING: data points rejected by http://\S+, in messages that it took: \d*[1-9]\d* \(too old\\033\[2J\)$")
for odd in [b"\xff" * 20, partial[:-1], b"\x0a\xff\xff\xff\xff\x0f"]:
    spile("report", run, f"--otlp={hostile(b'HTTP/1.1 200 OK' + bytes([13, 10]) + b'Content-Length: %d' % len(odd) + bytes([13, 10, 13, 10]) + odd, False)}").expect(status=0, err="")
for wrong in ["ftp://127.0.0.1", "http://", "127.0.0.1:4318", "http://127.0.0.1:0", "http://127.0.0.1:x", "http://a@127.0.0.1"]:
    spile(f"--otlp={wrong}", "-e", "probe begin { exit() }").expect(
        status=1, err_match="not a URL of a collector\n.*as in --otlp http://127")
spile("--otlp=http://127.0.0.1,0", "-e", "probe begin { exit() }").expect(status=1, err_match="'0' is not a number of seconds")

# Over https: a certificate that nobody vouches for is refused; one that the user trusts is not, and headers come along.
folder = temporary_directory()
check_call(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key", "-out", folder / "certificate",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], stderr=DEVNULL)
headers = []


class Secret(Collector):
    def do_POST(self):
        headers.append((self.headers["api-key"], self.headers["tenant"]))
        super().do_POST()


secure = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Secret)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "certificate", folder / "key")
secure.socket = context.wrap_socket(secure.socket, server_side=True)
threading.Thread(target=secure.serve_forever, daemon=True).start()
url = f"https://localhost:{secure.server_address[1]}"
Collector.taken.clear()
Collector.refusals.clear()
spile("report", run, f"--otlp={url}").expect(
    status=1, err_match=r"^https://localhost:\d+/v1/metrics: .*certificate.*: trying again, for 5 s in all\nWARNING: messages of metrics not delivered to https://localhost")
expect(Collector.taken, [])
trusting = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(folder / "certificate"), "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b,tenant=c"}
spile("report", run, f"--otlp={url}", variables=trusting).expect(status=0, out="", err="")
expect((len(Collector.taken) >= 3, set(headers)), (True, {("a b", "c")}))
for wrong in ["x", "=x", "a=%0d%0aHost:%20b"]:
    spile("report", run, f"--otlp={url}", variables={"OTEL_EXPORTER_OTLP_HEADERS": wrong}).expect(
        status=1, err_match="OTEL_EXPORTER_OTLP_HEADERS: .* is not KEY=VALUE")
