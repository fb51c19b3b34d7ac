"""A collector of OpenTelemetry for tests: it takes messages by OTLP/HTTP and decodes them by the field numbers of opentelemetry-proto 1.x."""
import http.server
import struct
import threading

from spiletest import *


def fields(data):
    """The fields of a protobuf message: number -> list of values (int for varints, bytes for all others)."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = 8 if key & 7 == 1 else varint() if key & 7 == 2 else fail(f"wire type {key & 7}")
            value = data[at:at + size]
            if len(value) != size:
                fail("a field ends too early")
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


zigzag = lambda n: n >> 1 ^ -(n & 1)
real = lambda data: struct.unpack("<d", data)[0]
signed = lambda data: struct.unpack("<q", data)[0]


def attributes(many):
    made = {}
    for pair in map(fields, many):
        value = fields(pair[2][0])
        made[pair[1][0].decode()] = value[1][0].decode() if 1 in value else value[3][0]
    return made


def metrics(message):
    [resource_metrics] = map(fields, fields(message)[1])
    [scope_metrics] = map(fields, resource_metrics[2])
    resource = attributes(fields(resource_metrics[1][0])[1])
    return resource, {m[1][0].decode(): m for m in map(fields, scope_metrics[2])}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    taken, refusals, seen = [], [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) != int(self.headers["Content-Length"]):
            fail("a message ends too early")
        Collector.seen.append((self.path, self.headers["Content-Type"]))
        status = Collector.refusals.pop(0) if Collector.refusals else 200
        if status == 200:
            Collector.taken.append(body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(port):
    """Begins to listen; returns the server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def spans(messages):
    """The spans of ExportTraceServiceRequests as dictionaries, with the attributes of their resource as `resource`."""
    found = []
    for message in messages:
        [resource_spans] = map(fields, fields(message)[1])
        [scope_spans] = map(fields, resource_spans[2])
        resource = attributes(fields(resource_spans[1][0])[1])
        for span in map(fields, scope_spans[2]):
            expect((len(span[1][0]), len(span[2][0]), span[6]), (16, 8, [1]), "lengths of the IDs, kind")
            found.append({"trace": span[1][0], "id": span[2][0], "parent": span.get(4, [None])[0], "name": span[5][0].decode(),
                          "begin": signed(span[7][0]), "end": signed(span[8][0]),
                          "attributes": attributes(span.get(9, [])), "resource": resource})
    return found
