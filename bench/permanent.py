#!/usr/bin/env python3
"""What a permanent probe costs its host: processor time and memory of spile, and processor time of the traced process, for a minute each. The table of docs/fleet.md is from it.

bench/permanent.py [SECONDS]     needs build/release, with its test programs"""
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPILE, BROKER = ROOT / "build/release/bin/spile", ROOT / "build/release/programs/kafka_broker"
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 60
HTTP, OTLP = 9188, 4388
SETTLES = 4  # seconds: compiling and arming are not what a permanent probe costs


def used(pid):
    """Seconds of processor time."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(pid, seconds):
    before, began = used(pid), time.monotonic()
    time.sleep(seconds)
    return (used(pid) - before) / (time.monotonic() - began)


def measure(name, calls_a_ms, options, script, scrapes=False):
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
    print(f"| {name} | {own:.2%} | {own * 3600:.0f} s | {memory:.0f} MiB | {traced - alone:.2%} |", flush=True)
    for process in (spile, target):
        process.terminate()
        process.wait()


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
    times = f'global n, t probe process("{pace}").function("work").return {{ n++; t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }}'
    prints = f'probe process("{pace}").function("work") {{ printf("work %d %s\\n", $i, execname()) }}'
    print("| a probe | processor time | in an hour | memory (PSS) | the traced process, of a processor |\n|---|---:|---:|---:|---:|")
    measure("idle, `--http`, four scrapes a minute", 0, ["--http", str(HTTP)], times, True)
    measure("times of 100,000 calls/s, `--http`, four scrapes a minute", 100, ["--http", str(HTTP)], times, True)
    measure("times of 100,000 calls/s, `--otlp` every 10 s", 100, ["--otlp", f"http://127.0.0.1:{OTLP}"], times)
    measure("10,000 events/s printed, `--kafka`", 10, ["--kafka", f"{brokers}/events"], prints)
    broker.kill()
