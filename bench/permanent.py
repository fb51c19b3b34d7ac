#!/usr/bin/env python3
"""What a permanent probe costs its host: processor time and memory of spile, and processor time of the traced process. The table
of docs/fleet.md is from it.

bench/permanent.py [SECONDS [TURNS]]     needs build/release, with its test programs

Processor time is that of the processes' own clocks, in ns, so that time in which other programs run does not count; the traced
process is compared with itself, just before spile comes and just after it has gone. Rows take turns, and the table has the
median, the least and the most of each: on a machine with other work the least is nearest to the truth, since caches and
processors that are shared make everything slower, and nothing faster."""
import http.server
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPILE, BROKER = ROOT / "build/release/bin/spile", ROOT / "build/release/programs/kafka_broker"
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 20
TURNS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
HTTP, OTLP = 9188, 4388
SETTLES = 4  # seconds: compiling and arming are not what a permanent probe costs


def used(pid):
    """Seconds of processor time of all threads, also of those that have ended: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def share(pid, seconds):
    before, began = used(pid), time.monotonic()
    time.sleep(seconds)
    return (used(pid) - before) / (time.monotonic() - began)


def measure(calls_a_ms, options, script, scrapes=False):
    """Shares of a processor that spile takes, and that the traced process takes more with it; MiB of spile."""
    target = subprocess.Popen([pace, str(calls_a_ms)])
    time.sleep(1)
    alone = share(target.pid, SECONDS / 4)
    spile = subprocess.Popen([SPILE, *options, "-x", str(target.pid), "-e", script], stdout=subprocess.DEVNULL)
    time.sleep(SETTLES)
    before, of_target, began = used(spile.pid), used(target.pid), time.monotonic()
    for _ in range(4):
        time.sleep(SECONDS / 4)
        if scrapes:
            urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/metrics", timeout=10).read()
    elapsed = time.monotonic() - began
    own, traced = (used(spile.pid) - before) / elapsed, (used(target.pid) - of_target) / elapsed
    memory = int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{spile.pid}/smaps_rollup").read_text(), re.M)[1]) / 1024
    spile.terminate()
    spile.wait()
    alone = (alone + share(target.pid, SECONDS / 4)) / 2
    target.terminate()
    target.wait()
    return own, traced - alone, memory


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory() as folder:
    pace = f"{folder}/pace"
    subprocess.run(["gcc", "-O2", "-g", "-o", pace, ROOT / "bench/pace.c"], check=True)
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", OTLP), Collector).serve_forever, daemon=True).start()
    broker = subprocess.Popen([BROKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    brokers = next(line for line in broker.stdout if line.startswith(b"ready")).decode().split()[1]
    threading.Thread(target=lambda: [None for _ in broker.stdout], daemon=True).start()
    times = (f'global n, t probe process("{pace}").function("work").return {{ n++; '
             f't <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }}')
    prints = f'probe process("{pace}").function("work") {{ printf("work %d %s\\n", $i, execname()) }}'
    rows = {"idle, `--http`, four scrapes": (0, ["--http", str(HTTP)], times, True),
            "times of 100,000 calls/s, `--http`, four scrapes": (100, ["--http", str(HTTP)], times, True),
            "times of 100,000 calls/s, `--otlp` every 10 s": (100, ["--otlp", f"http://127.0.0.1:{OTLP}"], times),
            "10,000 events/s printed, `--kafka`": (10, ["--kafka", f"{brokers}/events"], prints)}
    found = {name: [] for name in rows}
    for _ in range(TURNS):
        for name, row in rows.items():
            found[name].append(measure(*row))
    of = lambda values, form: f"{form(statistics.median(values))} ({form(min(values))} to {form(max(values))})"
    print("| a permanent probe | spile's processor time | in an hour | memory (PSS) | the traced process, of a processor |\n"
          "|---|---:|---:|---:|---:|")
    for name, results in found.items():
        own, traced, memory = zip(*results)
        print(f"| {name} | {of(own, '{:.2%}'.format)} | {statistics.median(own) * 3600:.0f} s | {statistics.median(memory):.0f} "
              f"MiB | {of(traced, '{:.2%}'.format)} |", flush=True)
    broker.kill()
