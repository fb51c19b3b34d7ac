#!/usr/bin/env python3
"""./dev bench: what a hit costs, what starting costs, what arming a large program costs, what a database keeps of its
throughput; rivals in the same run.

    run.py [--json FILE] [--markdown FILE] [--repeat N] [--seconds S] [--only REGEX] [--no-rivals]

A hit's cost is the difference between a function with the probe and one with the same code without it, called in turn
in the same process (target.c): of each run the median over its chunks, of those the median over the repetitions, with
the least and the greatest beside it. Repetitions of all cases are interleaved, so that a slow minute hits all alike.
Every count is compared with the number of calls that the target made.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import kernel
import postgres

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SPILE_BUILD", ROOT / "build/release"))
SPILE = str(BUILD / "bin/spile")
BENCH = BUILD / "bench"
TARGET = str(BENCH / "target")
WORK = pathlib.Path(tempfile.mkdtemp(prefix="spile-bench-"))

# name, script, most that it may cost (ns), what the last number printed must be as a function of the calls made
END = ' probe end { println(c) }'
HITS = [
    ("c++", 'global c probe process.function("probed") { c++ }' + END, 5, lambda calls: calls),
    ("s <<< $arg", 'global s probe process.function("probed") { s <<< $arg } '
     'probe end { printf("%d %d %d %d\\n", @sum(s), @min(s), @max(s), @avg(s)); println(@count(s)) }', 8, lambda n: n),
    ("a[$arg & 63]++", 'global a probe process.function("probed") { a[$arg & 63]++ } '
     'probe end { foreach (k in a) n += a[k]; println(n) }', 12, lambda n: n),
    ("if ($arg == -7) c++", 'global c probe process.function("probed") { if ($arg == -7) c++ }' + END, 3, lambda n: 0),
    ("c++ beside kernel.trace",
     'global c, k probe process.function("probed") { c++ } probe kernel.trace("sched:sched_process_fork") { k++ }'
     ' probe end { println(k) println(c) }', 6.5, lambda n: n),
    (".return c++", 'global c probe process.function("probed").return { c++ }' + END, 8, lambda n: n),
    ("if (ustack(3)) c++: 4 frames", 'global c probe process.function("probed") { if (ustack(3)) c++ }' + END, 600, lambda n: n),
    ("entry to return, <<< ns", 'global s probe process.function("probed").return '
     '{ s <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } probe end { println(@avg(s)); println(@count(s)) }', 50,
     lambda n: n),
]
PRINTF = 'probe process.function("probed") { printf("%d %d\\n", $arg, $other) }'


class Failed(Exception):
    pass


def run(command, timeout=300, **options):
    """Runs a command; returns (process, stdout, stderr, wall seconds, peak memory in bytes)."""
    began = time.monotonic()
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, stdin=subprocess.DEVNULL, **options)
    end = began + timeout
    usage = None
    while usage is None:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            usage, process.returncode = used, os.waitstatus_to_exitcode(status)
            process.processor_ms = (used.ru_utime + used.ru_stime) * 1e3
        elif time.monotonic() > end:
            process.kill()
            raise Failed(f"{command[0]}: not done after {timeout} s")
        else:
            time.sleep(0.0005)
    wall = time.monotonic() - began
    out.seek(0), err.seek(0)
    return process, out.read().decode(errors="replace"), err.read().decode(errors="replace"), wall, usage.ru_maxrss * 1024


def chunks_of(path):
    data = json.loads(pathlib.Path(path).read_text())
    plain = statistics.median(c[0] for c in data["chunks"])
    probed = statistics.median(c[1] for c in data["chunks"])
    return data["calls"], plain, probed - plain


def spile_hit(script, check, threads, seconds):
    out = WORK / "target.json"
    out.unlink(missing_ok=True)
    process, stdout, stderr, _, _ = run([SPILE, "-e", script, "-c", f"{TARGET} {out} {seconds} {threads}"])
    if process.returncode or not out.exists():
        raise Failed(f"spile ended with {process.returncode}: {stderr.strip()[-300:]}")
    calls, plain, added = chunks_of(out)
    counted = int(stdout.split()[-1])
    if counted != check(calls):
        raise Failed(f"{calls} calls, but {counted} counted")
    return plain, added


def spile_printf(threads, seconds):
    """At a million records a second: all must arrive."""
    out, records = WORK / "target.json", WORK / "records"
    out.unlink(missing_ok=True)
    process, _, stderr, _, _ = run([SPILE, "-o", records, "-e", PRINTF, "-c",
                                    f"{TARGET} {out} {seconds} {threads} {1_000_000 // threads}"])
    if process.returncode or not out.exists():
        raise Failed(f"spile ended with {process.returncode}: {stderr.strip()[-300:]}")
    calls, plain, added = chunks_of(out)
    lines = records.read_bytes().count(b"\n")
    records.unlink()
    if lines != calls:
        raise Failed(f"{calls} calls, but {lines} records")
    return plain, added


CALLER = BUILD / "programs/syscalls"
CALL = "probe process.syscall { if ($syscall == 39) c++ }"
CALLS = [  # name, script, calls; the last is what all scripts cost before calls were probed in the process
    ("process.syscall", "global c " + CALL + END, 300_000),
    ("process.syscall and .return", "global c, r " + CALL + " probe process.syscall.return { if ($syscall == 39) r++ }"
     " probe end { println(r == c) }" + END, 300_000),
    ("process.syscall by ptrace", "global c " + CALL + ' probe process("/nowhere/*").syscall { exit() }' + END, 20_000),
]


def spile_call(script, calls):
    """Nanoseconds that a call of getpid takes, and that the probe adds to it."""
    time_of = lambda text: float(re.search(r"^([\d.]+) ns$", text, re.M).group(1))
    plain = time_of(run([CALLER, "getpid", calls])[1])
    process, stdout, stderr, _, _ = run([SPILE, "-e", script, "-c", f"{CALLER} getpid {calls}"])
    if process.returncode or int(stdout.split()[-1]) != calls:
        raise Failed(f"{calls} calls, but: {stdout.strip()[-100:]} {stderr.strip()[-200:]}")
    return plain, time_of(stdout) - plain


# ---- rivals ------------------------------------------------------------------------------------------------------

def uftrace(threads, seconds):
    out, data = WORK / "target.json", WORK / "uftrace"
    out.unlink(missing_ok=True)
    shutil.rmtree(data, ignore_errors=True)
    run(["uftrace", "record", "--no-event", "--no-libcall", "-P", "probed", "-d", data, TARGET, out, min(seconds, 0.3),
         threads])
    shutil.rmtree(data, ignore_errors=True)
    return chunks_of(out)[1:]


def bpftrace(program):
    def measure(threads, seconds):
        out = WORK / "target.json"
        out.unlink(missing_ok=True)
        _, _, err, _, _ = run(["bpftrace", "-e", program.replace("PATH", TARGET), "-c",
                               f"{TARGET} {out} {seconds} {threads}"])
        if not out.exists():
            raise Failed(err.strip()[-300:])
        return chunks_of(out)[1:]
    return measure


def lttng(threads, seconds):
    """As an ordinary user, with a session daemon of its own."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="spile-lttng-"))
    try:
        as_user = []
        if os.geteuid() == 0:
            os.chown(home, 65534, 65534)
            as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        shutil.copy(BENCH / "target_lttng", home / "target")
        environment = {**os.environ, "LTTNG_HOME": str(home), "HOME": str(home)}
        daemon = subprocess.Popen([*as_user, "lttng-sessiond", "--no-kernel"], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            for step in (["create", "bench", f"--output={home}/trace"],
                         ["enable-channel", "-u", "-s", "bench", "--subbuf-size=4M", "--num-subbuf=8", "channel"],
                         ["enable-event", "-u", "-s", "bench", "-c", "channel", "spile_bench:hit"], ["start", "bench"]):
                process, _, err, _, _ = run([*as_user, "lttng", "-n", *step], env=environment)
                if process.returncode:
                    raise Failed(err.strip()[-300:])
            run([*as_user, home / "target", home / "out.json", min(seconds, 0.5), threads], env=environment)
            run([*as_user, "lttng", "-n", "destroy", "bench"], env=environment)
            return chunks_of(home / "out.json")[1:]
        finally:
            daemon.terminate()
            daemon.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def trap(threads, seconds):
    return 0.0, float(run([BENCH / "trap"])[1])


RIVALS = [
    ("uftrace, entry and exit recorded", "uftrace", uftrace),
    ("LTTng-UST tracepoint, two integers", "lttng-sessiond", lttng),
    ("bpftrace uprobe count()", "bpftrace", bpftrace("uprobe:PATH:probed { @ = count(); }")),
    ("bpftrace uretprobe count()", "bpftrace", bpftrace("uretprobe:PATH:probed { @ = count(); }")),
    ("bpftrace entry to return, hist", "bpftrace", bpftrace(
        "uprobe:PATH:probed { @start[tid] = nsecs; } uretprobe:PATH:probed { @ = hist(nsecs - @start[tid]); }")),
    ("int3 and SIGTRAP inside the process", None, trap),
]


# ---- starting ----------------------------------------------------------------------------------------------------

def cache(keep):
    """An environment in which spile finds on disk: nothing; what it learnt about the program; the script's code too."""
    folder = WORK / f"cache-{keep}"
    if keep == "nothing":
        shutil.rmtree(folder, ignore_errors=True)
    elif keep == "program":
        shutil.rmtree(folder / "spile/code", ignore_errors=True)
    return {**os.environ, "XDG_CACHE_HOME": str(folder)}


def start_begin(keep):
    """Process start to end of a script without probes in any program, with all of the library installed, ms."""
    def measure():
        environment = cache(keep)
        process, out, err, wall, peak = run([SPILE, "-e", 'probe begin { println("x") exit() }'], env=environment)
        if process.returncode or out != "x\n":
            raise Failed(err.strip()[-300:])
        return wall * 1e3, process.processor_ms
    return measure


def start_armed(keep):
    """Process start until the command of -c runs its main(), armed, ms."""
    def measure():
        out = WORK / "target.json"
        environment = cache(keep)
        began = time.time_ns()
        process, _, err, _, _ = run([SPILE, "-e", 'global c probe process.function("probed") { c++ } probe end { println(c) }',
                                     "-c", f"{TARGET} {out} 0.01"], env=environment)
        if process.returncode:
            raise Failed(err.strip()[-300:])
        return (json.loads(out.read_text())["main"] - began) / 1e6, process.processor_ms
    return measure


def start_large(keep):
    """The same on sqlite3 built with -g (5 MB of DWARF): until its main() is entered, by a probe's own clock, ms."""
    def measure():
        sqlite = sqlite3()
        environment = cache(keep)
        began = time.time_ns()
        process, out, err, _, _ = run(
            [SPILE, "-e", 'probe process.function("main") { printf("%d %d\\n", gettimeofday_ns(), $argc) }',
             "-c", f"{sqlite} :memory: .quit"], env=environment)
        if process.returncode:
            raise Failed(err.strip()[-300:])
        return (int(out.split()[0]) - began) / 1e6, process.processor_ms
    return measure


STARTS = [
    ("begin { exit() }, start to end, compiled", start_begin("program"), 40),
    ("begin { exit() }, start to end, again", start_begin("all"), 40),
    ("one probe armed, small program, compiled", start_armed("program"), 60),
    ("one probe armed, small program, again", start_armed("all"), 60),
    ("one probe armed with $argc, sqlite3 -g, nothing known", start_large("nothing"), 200),
    ("one probe armed with $argc, sqlite3 -g known, compiled", start_large("program"), 60),
    ("one probe armed with $argc, sqlite3 -g known, again", start_large("all"), 60),
]


# ---- arming a large program --------------------------------------------------------------------------------------

def sqlite3():
    path = ROOT / "build/programs/sqlite3"
    if not path.exists():
        raise Failed("sqlite3 with -g was not built")
    return str(path)


def redis():
    path = ROOT / "build/programs/redis-server"
    if not path.exists():
        raise Failed("redis-server with -g was not built")
    return str(path)


QUERY = "with recursive n(i) as (select 1 union all select i+1 from n where i < 2000000000) select sum(i) from n;"


def arm_all(command, pattern):
    """Attaches to all functions of a running program: ms until armed, the target's longest pause in ms (by a thread
    in it that beats every 0.1 ms), spile's peak memory in MB, the number of functions."""
    def measure():
        beat = WORK / "heartbeat"
        beat.unlink(missing_ok=True)
        target = subprocess.Popen(command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "LD_PRELOAD": str(BENCH / "libheartbeat.so"), "HEARTBEAT": str(beat)})
        session = None
        try:
            time.sleep(0.7)
            with open(beat, "r+b", buffering=0) as file:
                file.write(bytes(8))
                began = time.monotonic()
                err = tempfile.TemporaryFile()
                session = subprocess.Popen([SPILE, "-v", "-e", f'global n probe process.function("{pattern}") {{ n++ }} '
                                            'probe end { println(n) }', "-x", str(target.pid)],
                                           stdout=subprocess.PIPE, stderr=err)
                armed = wait_armed(session, target.pid, began)
                time.sleep(0.2)
                file.seek(0)
                pause = int.from_bytes(file.read(8), "little")
                peak = peak_memory(session.pid)
            session.send_signal(signal.SIGINT)
            out, _ = session.communicate(timeout=60)
            err.seek(0)
            functions = int(re.search(r"^Armed (\d+) of", err.read().decode(errors="replace"), re.M).group(1))
            if session.returncode or int(out.split()[-1]) == 0:
                raise Failed(f"status {session.returncode}, {out!r}")
            return {"armed_ms": armed * 1e3, "pause_ms": pause / 1e6, "peak_mb": peak / 1e6, "functions": functions}
        finally:
            for process in (session, target):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
    return measure


def wait_armed(session, pid, began):
    """Until spile's own memory is mapped in the target and spile no longer traces a stopped thread of it."""
    while time.monotonic() - began < 60:
        if session.poll() is not None:
            raise Failed("spile ended instead of attaching")
        if changed(pid):
            return time.monotonic() - began
        time.sleep(0.001)
    raise Failed("not armed after 60 s")


def changed(pid):
    """Whether the text of the program differs from the file on disk."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if "x" in fields[1] and len(fields) == 6 and fields[5].startswith("/") and "memfd" not in fields[5]:
            low, high = (int(part, 16) for part in fields[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb") as memory, open(fields[5], "rb") as file:
                memory.seek(low), file.seek(int(fields[2], 16))
                disk = file.read(high - low)
                return memory.read(len(disk)) != disk
    return False


def peak_memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024


ARMINGS = [
    ("sqlite3 -g, running a query: all functions", arm_all(lambda: [sqlite3(), ":memory:", QUERY], "*")),
    ("redis-server -g, idle: all functions", arm_all(
        lambda: [redis(), "--port", "0", "--unixsocket", str(WORK / "redis.sock"), "--save", ""], "*")),
]


# ---- the run -----------------------------------------------------------------------------------------------------

def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "values": values}


def attempt(results, key, measure):
    entry = results.setdefault(key, {"values": []})
    if "failed" in entry:
        return
    try:
        entry["values"].append(measure())
    except (Failed, OSError, ValueError, IndexError, KeyError, subprocess.TimeoutExpired) as error:
        entry["failed"] = f"{type(error).__name__}: {error}"


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"processor": model.group(1) if model else platform.processor(), "processors": os.cpu_count(),
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d")}


def tabulate_hits(report, hits, limits):
    rows = [["added to a call, ns", "threads", "median", "least", "most", "at most"]]
    for key, entry in hits.items():
        name, threads = key.rsplit(" | ", 1)
        if "failed" in entry:
            report["hits_ns"][key] = {"failed": entry["failed"]}
            rows.append([name, threads, "failed: " + entry["failed"][:300]])
            continue
        result = summary([value[1] for value in entry["values"]])
        result["unprobed_call"] = statistics.median(value[0] for value in entry["values"])
        report["hits_ns"][key] = {**result, "limit": limits.get(key)}
        rows.append([name, threads, *(f"{result[field]:,.1f}" for field in ("median", "min", "max")),
                     str(limits.get(key) or "")])
    return rows


def tabulate_starts(report, starts, limits):
    rows = [["starting, ms", "median", "least", "most", "processor", "at most"]]
    for name, entry in starts.items():
        if "failed" in entry:
            report["starts_ms"][name] = {"failed": entry["failed"]}
            rows.append([name, "failed: " + entry["failed"][:300]])
            continue
        values = entry["values"][1:] or entry["values"]  # the first filled the cache
        result = summary([value[0] for value in values])
        result["processor"] = statistics.median(value[1] for value in values)
        report["starts_ms"][name] = {**result, "limit": limits[name]}
        rows.append([name, *(f"{result[field]:.1f}" for field in ("median", "min", "max", "processor")), str(limits[name] or "")])
    return rows


def tabulate_armings(report, armings):
    rows = [["arming a running program", "sites", "armed, ms", "pause, ms", "least", "most", "peak, MB"]]
    for name, entry in armings.items():
        if "failed" in entry:
            report["arming"][name] = {"failed": entry["failed"]}
            rows.append([name, "failed: " + entry["failed"][:300]])
            continue
        result = {field: summary([value[field] for value in entry["values"]]) for field in entry["values"][0]}
        report["arming"][name] = result
        rows.append([name, f"{result['functions']['median']:.0f}", f"{result['armed_ms']['median']:.0f}",
                     *(f"{result['pause_ms'][field]:.1f}" for field in ("median", "min", "max")),
                     f"{result['peak_mb']['median']:.0f}"])
    return rows


def tabulate_pgbench(report, runs):
    rows = [["pgbench, two clients", "functions", "hits a transaction", "throughput, %", "least", "most", "by processor time, %",
             "at least"]]
    for name in {name: None for entry in runs["values"] for name in entry}:
        values = [entry[name] for entry in runs["values"]]
        result = {field: summary([value[field] for value in values]) for field in values[0]}
        report["pgbench"][name] = result
        rows.append([name.removeprefix("pgbench "), f"{result['functions']['median']:.0f}",
                     f"{result['hits_per_transaction']['median']:,.0f}",
                     *(f"{result['share'][field]:.0f}" for field in ("median", "min", "max")),
                     f"{result['cpu_share']['median']:.0f}", str(values[0]["limit"])])
    if "failed" in runs:
        report["pgbench"]["failed"] = runs["failed"]
        rows.append(["failed: " + runs["failed"][:300]])
    return rows


def as_text(rows):
    whole = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in whole) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
                     for row in rows)


def as_markdown(rows):
    line = lambda row: "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    return "\n".join([line(rows[0]), "|---|" + "---:|" * (len(rows[0]) - 1), *map(line, rows[1:])])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json")
    options.add_argument("--markdown")
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.6)
    options.add_argument("--only", default="")
    options.add_argument("--no-rivals", action="store_true")
    options = options.parse_args()

    hits, starts, armings, servers, limits = {}, {}, {}, {}, {}
    for turn in range(options.repeat):
        print(f"\rrepetition {turn + 1} of {options.repeat}", end="", file=sys.stderr, flush=True)
        for threads in (1, 2):
            for name, script, limit, check in HITS:
                key = f"{name} | {threads}"
                limits[key] = limit
                if re.search(options.only, key):
                    attempt(hits, key, lambda: spile_hit(script, check, threads, options.seconds))
            key = f"printf of two integers, 1 M/s | {threads}"
            limits[key] = 80
            if re.search(options.only, key):
                attempt(hits, key, lambda: spile_printf(threads, options.seconds))
            for name, script, calls in (CALLS if threads == 1 else []):
                key = f"getpid: {name} | 1"
                if re.search(options.only, key):
                    attempt(hits, key, lambda: spile_call(script, calls))
            for name, tool, measure in ([] if options.no_rivals else RIVALS):
                key = f"{name} | {threads}"
                if re.search(options.only, key) and turn < 3 and (
                        shutil.which(tool) if tool else threads == 1):
                    attempt(hits, key, lambda: measure(threads, options.seconds))
        for name, measure, limit in STARTS:
            limits[name] = limit
            if re.search(options.only, name):
                attempt(starts, name, measure)
        for name, measure in ARMINGS:
            if re.search(options.only, name):
                attempt(armings, name, measure)
        if re.search(options.only, "pgbench") and turn < 3:
            attempt(servers, "pgbench", lambda: postgres.run(SPILE, Failed))
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)

    report = {"machine": machine(), "hits_ns": {}, "starts_ms": {}, "arming": {}, "pgbench": {}}
    tables = [tabulate_hits(report, hits, limits), tabulate_starts(report, starts, limits),
              tabulate_armings(report, armings), tabulate_pgbench(report, servers.get("pgbench", {"values": []}))]
    title = "{processor}, {processors} processors, Linux {kernel}, {date}".format(**report["machine"])
    print(title)
    if re.search(options.only, "kernel") and os.geteuid() == 0:
        tables += kernel.tables(BUILD, report, "", min(options.repeat, 3))
    tables = [table for table in tables if len(table) > 1]
    for table in tables:
        print("\n" + as_text(table))
    if options.markdown:
        pathlib.Path(options.markdown).write_text(title + "\n" + "".join("\n" + as_markdown(t) + "\n" for t in tables))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
        print(f"\n{options.json}")


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
