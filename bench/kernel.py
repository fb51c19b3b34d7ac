"""Handlers in the kernel, beside bpftrace's: on this machine, and in the guests of tests/vm (software emulation: ratios only).

Of each case the median over the turns is taken; the tools take turns. Results are those lines that kernel_cases.sh prints."""
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse(text, values):
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(" | ", 2)]
        if len(parts) == 3:
            values.setdefault((parts[0], parts[1]), []).append(parts[2])


def here(build, only, turns):
    environment = {**os.environ, "SPILE": str(build / "bin/spile"), "KERNEL_CALLS": str(build / "bench/kernel_calls"),
                   "KERNEL_LOOP": "300 2000", "KERNEL_RECORDS": "1000000",
                   "KERNEL_TURNS": str(turns), "KERNEL_ONLY": only}
    # bpftrace of Debian 12 looks for the tracepoints where debugfs has them; some kernels lack it.
    mount = ("D=/sys/kernel/debug; [ -e $D/tracing/events ] || { mount -t tmpfs none $D && mkdir $D/tracing && "
             "mount -t tracefs tracefs $D/tracing; }; exec sh")
    return subprocess.run(["unshare", "-m", "sh", "-c", f'{mount} "$0"', ROOT / "bench/kernel_cases.sh"], env=environment,
                          capture_output=True, text=True).stdout


def guest(build, kernel, only):
    with tempfile.TemporaryDirectory() as results:
        case = pathlib.Path(results) / "kernel_cases.sh"
        case.write_text((ROOT / "bench/kernel_cases.sh").read_text().replace("KERNEL_ONLY:-", "KERNEL_ONLY:-" + only))
        out = pathlib.Path(results) / "results"
        run = subprocess.run([ROOT / "tests/vm/run", kernel, out, case], env={**os.environ, "SPILE_BUILD": str(build)},
                             capture_output=True, text=True)
        log = out / "kernel_cases.log"
        return log.read_text() if log.exists() else f"all | spile | failed: {run.stdout.strip()[-200:]}\n"


def tables(build, report, only, turns):
    """The tables, and what they have in report["kernel"]. only: a part of the names of cases."""
    made = []
    machines = [("this machine", lambda: here(build, only, turns)),
                *((f"guest, Linux {kernel}", lambda kernel=kernel: guest(build, kernel, only)) for kernel in ("6.12", "6.1"))]
    for place, run in machines:
        values = {}
        parse(run(), values)
        rows = [[f"in the kernel ({place}), ns added", "spile", "bpftrace", "share"]]
        for name in {name: None for name, _ in values}:
            numbers = {}
            for (case, tool), all_values in values.items():
                good = [float(value) for value in all_values if re.fullmatch(r"-?[\d.]+", value)]
                if case == name:
                    numbers[tool] = statistics.median(good) if good else all_values[0]
            report.setdefault("kernel", {}).setdefault(place, {})[name] = numbers
            ours, theirs = numbers.get("spile"), min((v for t, v in numbers.items() if t != "spile" and isinstance(v, float)),
                                                     default=None)
            show = lambda v: f"{v:,.1f}" if isinstance(v, float) else str(v or "")[:60]
            rows.append([name, show(ours), show(theirs) or show(numbers.get("bpftrace")),
                         f"{ours / theirs:.2f}" if isinstance(ours, float) and theirs else ""])
        by_name, by_number = (report["kernel"][place].get(f"tracepoint: a[{key}()]++", {}).get("spile")
                              for key in ("execname", "pid"))
        if isinstance(by_name, float) and isinstance(by_number, float):
            rows.append(["a[execname()]++ by a[pid()]++ (at most 1.15)", f"{by_name / by_number:.2f}", "", ""])
        made.append(rows)
    return made
