#!/usr/bin/env python3
"""What the verbs that show things cost: `top` of all functions of a redis-server under load, `top` and `snap` of 1,000 functions,
`flame` of 8 busy threads.

bench/seeing.py [TURNS]     needs build/release with bench, build/programs/redis-server, redis-benchmark

Turns are interleaved; the table has medians, and of times of a call those of the quietest twentieth of the chunks as well, since
other programs make everything slower and nothing faster."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPILE, THOUSAND, TARGET = (ROOT / "build/release/bin/spile", ROOT / "build/release/bench/thousand",
                           ROOT / "build/release/bench/target")
REDIS, PORT, REQUESTS = ROOT / "build/programs/redis-server", 7719, 100_000
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def used(pid):
    """Seconds of processor time: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def requests(server):
    before, began = used(server.pid), time.monotonic()
    subprocess.run(["redis-benchmark", "-p", str(PORT), "-q", "-n", str(REQUESTS), "-c", "50", "-t", "get"], check=True, **QUIET)
    return REQUESTS / (time.monotonic() - began), (used(server.pid) - before) / REQUESTS * 1e6


def top():
    server = subprocess.Popen([REDIS, "--port", str(PORT), "--save", ""], **QUIET)
    time.sleep(1)
    requests(server)
    plain, traced = [], []
    for _ in range(TURNS):
        plain.append(requests(server))
        tracer = subprocess.Popen([SPILE, "top", "*", "-x", str(server.pid)], **QUIET)
        time.sleep(3)
        traced.append(requests(server))
        tracer.terminate()
        tracer.wait()
    server.kill()
    (rate, cpu), (rate_traced, cpu_traced) = (map(statistics.median, zip(*some)) for some in (plain, traced))
    print(f"top '*', redis-server: {rate_traced / rate:.0%} of {rate:,.0f} requests/s; processor time of a request {cpu:.1f} "
          f"and {cpu_traced:.1f} us")


def calls(name, *verb, functions):
    medians, quiet, counter = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            subprocess.run([SPILE, *verb, "-o", f"{folder}/out.json", "-c", f"{THOUSAND} {folder}/calls 1 {functions}"],
                           check=True, **QUIET)
            measured = json.loads(pathlib.Path(f"{folder}/calls").read_text())
            counter.append(measured["counter"])
            plain, probed = (sorted(of) for of in zip(*measured["chunks"]))
            for found, part in (medians, 2), (quiet, 20):
                found.append(probed[len(probed) // part] - plain[len(plain) // part])
    print(f"{name}, {functions} functions: {statistics.median(medians):.0f} "
          f"ns a call, in the quietest twentieth {statistics.median(quiet):.0f}; "
          f"two readings of the time counter alone {2 * min(counter):.0f}")


def flame():
    """Shares of the processors' time. The difference of two lengths leaves start and end out."""
    times = {1: [], 9: []}
    with tempfile.TemporaryDirectory() as folder:
        target = subprocess.Popen([TARGET, f"{folder}/out", "100000", "8"], **QUIET)
        for _ in range(TURNS):
            for seconds, found in times.items():
                tracer = subprocess.Popen([SPILE, "flame", "--hz", "99", "-x", str(target.pid), "-T", str(seconds), "-o",
                                           f"{folder}/x.folded"], **QUIET)
                _, status, usage = os.wait4(tracer.pid, 0)
                tracer.returncode = os.waitstatus_to_exitcode(status)
                found.append(usage.ru_utime + usage.ru_stime)
        target.kill()
    short, long = statistics.median(times[1]), statistics.median(times[9])
    second = (long - short) / 8
    print(f"flame, 8 threads, 99 Hz: {(short + 9 * second) / 10 / os.cpu_count():.2%} of all processors in 10 s, start and end "
          f"included; {second * 1000:.1f} ms a second")


top()
for count in (80, 1000):
    calls("top", "top", "probed_*", functions=count)
for count in (1, 80, 1000):
    calls("snap", "snap", "probed_*", functions=count)
flame()
