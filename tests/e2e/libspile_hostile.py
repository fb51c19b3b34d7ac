# libspile beside a program that is not spile, or a damaged one: a stream written here by docs/run-format.md gives its events,
# globals and messages; streams that are cut, flipped, or have wrong numbers in frames whose checksums are right are errors, or
# other values, but no crash and no endless wait; what a slow end leaves is reaped.
from libspile_install import *

os.environ.update(ENVIRONMENT)
sys.path.insert(0, ENVIRONMENT["PYTHONPATH"])
import json, struct, zlib
import spile as library

folder = temporary_directory()
fake = folder / "fake"
fake.write_text('#!/bin/sh\ncat "$FAKE_STREAM" >&3\n')
fake.chmod(0o755)
os.environ.update(SPILE_PROGRAM=str(fake), FAKE_STREAM=str(folder / "stream"))


def number(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def signed(value):
    return number((value << 1 ^ value >> 63) & 2**64 - 1)


def text(value):
    return number(len(value.encode())) + value.encode()


def zstd(payload):
    """RFC 8878, one raw block: nothing is compressed."""
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(payload)) + struct.pack("<I", 1 | len(payload) << 3)[:3] + payload


def stream(frames):
    out = b"SPILERUN" + struct.pack("<II", 1, 0)
    for i, (kind, payload) in enumerate(frames):
        stored = zstd(payload)
        head = b"FRAM" + struct.pack("<IIIQI", kind, len(stored), len(payload), i, zlib.crc32(stored))
        out += head + struct.pack("<I", zlib.crc32(head)) + stored
    return out


facts = {"spile": "0", "host": "h", "kernel": "k", "machine": "m", "begun_ns": 1000, "every_ns": 1, "script_name": "s",
         "script": "", "arguments": [], "command": "", "processes": [],
         "probes": [{"point": "p", "source": "s:1:1", "runs_in": "process", "places": 1}],
         "globals": [{"name": "a", "type": "long", "keys": ["string"], "features": 0, "low": 0, "high": 0, "width": 0},
                     {"name": "t", "type": "stats", "keys": [], "features": 0, "low": 0, "high": 0, "width": 0}],
         "formats": [{"printf": [{"conversion": "d"}, {"literal": ":"}, {"conversion": "s"}], "arguments": ["long", "string"]}]}
statistics = number(2) + signed(12) + signed(5) + signed(7) + number(0) + number(0) + number(2) + number(5) + number(1) + number(
    2) + number(1)
FRAMES = [(9, number(1) + text("beware") + text("of it") + text("f.stp") + text("") + number(3) + number(4) + number(3)
           + number(9)), (1, json.dumps(facts).encode()), (10, b""), (99, b"unknown"),
          (2, number(2) + text("x") + text("yy")), (12, number(1) + number(1) + number(77)),
          (13, number(2) + number(1) + number(78) + number(1) + number(0)),
          (3, number(2) + number(1) + number(1) + number(6) + signed(500) + signed(-3) + number(1) + number(0) + number(0)
           + number(0) + signed(-1) + number(0)), (11, b""),
          (2, number(1) + text("new")), (3, number(1) + number(0) + number(1) + number(0) + signed(1) + number(0)),
          (4, number(0) + number(1) + number(3) + number(1) + text("key") + signed(-5)),
          (4, number(1) + number(1) + number(0) + number(1) + statistics),
          (5, signed(2000) + number(1) + number(2) + number(3) + number(1) + number(1) + number(9)),
          (7, signed(3000) + number(1) + text("so many were lost"))]


def run_stream(data):
    """What a session makes of a stream: its events, and the code of the error with which it ends, or None."""
    (folder / "stream").write_bytes(data)
    events = []
    try:
        with library.run("") as session:
            events.extend(session)
            return events, None, session.read(), session.messages
    except library.Error as error:
        return events, error.code, None, None
    except ValueError:  # of read(): the stream ends before it says that the run has begun
        return events, None, None, None


events, code, end, messages = run_stream(stream(FRAMES))
expect([(e.time_ns, e.probe, e.cpu, e.process, e.thread, e.text, e.values) for e in events],
       [(1500, "p", 6, 77, 78, "-3:yy", (-3, "yy")), (1499, "", 0, 0, None, "x", ("x",)),
        (1500, "p", 0, 0, None, "new", ("new",))])
expect((code, end.globals["a"], end.incomplete, end.skipped, end.lost_records, end.lost_elements, end.is_final),
       (None, {"key": -5}, ["a"], 1, 2, 3, True))
t = end.globals["t"]
expect((t.count, t.sum, t.min, t.max, t.average), (2, 12, 5, 7, 6.0))
expect([(m.text, m.hint, m.file, m.line, m.column, m.end_line, m.end_column) for m in messages],
       [("beware", "of it", "f.stp", 3, 4, 3, 9), ("so many were lost", "", "", 0, 0, 0, 0)])
expect(end.probes[0].hits, 9)

whole, chance, codes = stream(FRAMES), random.Random(4), set()
for size in [0, 7, 16, 20, *(chance.randrange(20, len(whole)) for _ in range(12))]:
    codes.add(run_stream(whole[:size])[1])
for _ in range(15):
    at = chance.randrange(len(whole))
    codes.add(run_stream(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])[1])
expect_true({-4} <= codes <= {-8, -4, None}, f"codes of damaged streams: {codes}")
for _ in range(60):
    which = chance.randrange(len(FRAMES))
    kind, payload = FRAMES[which]
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(payload) + 1)
        payload = payload[:at] + bytes([chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])]) + payload[
            at + chance.randrange(2):]
    codes.add(
        run_stream(stream([*FRAMES[:which], (chance.choice([kind, kind, kind, 1, 3, 11, 12]), payload), *FRAMES[which + 1:]]))[1])
expect_true(codes <= {-8, -7, -6, -5, -4, None}, f"codes of wrong frames: {codes}")
expect(children(os.getpid()), [], "children")
