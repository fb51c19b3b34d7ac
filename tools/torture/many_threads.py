#!/usr/bin/env python3
"""many_threads.py [THREADS] [CALLS]: so many threads at once (10,000), launched and attached, with all functions of the program
probed, entry and return: every call of `step` is counted twice. Prints times, and what the program has in memory with and without
spile. Needs a pid_max and an RLIMIT_NPROC that allow it."""
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPILE, PROGRAM = ROOT / "build/release/bin/spile", ROOT / "build/release/programs/many_threads"
THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
SCRIPT = """global n, m, all, back probe process("PROGRAM").function("step").call { n++ }
probe process("PROGRAM").function("step").return { m++ }
probe process("PROGRAM").function("*").call { all++ } probe process("PROGRAM").function("*").return { back++ }
probe end { printf("%d %d %d %d\\n", n, m, all >= n, back >= m) }""".replace("PROGRAM", str(PROGRAM))
WANTED = THREADS * (CALLS + 1)


def memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {field: int(re.search(rf"^{field}:\s+(\d+)", status, re.M).group(1)) // 1024 for field in ("VmSize", "VmRSS", "VmPTE")}


def check(what, out, begun):
    good = f"{WANTED} {WANTED} 1 1" in out
    print(f"{what}: {'exact' if good else 'WRONG'}, {time.monotonic() - begun:.1f} s: {out.strip().splitlines()[-1:]}")
    return good


begun = time.monotonic()
launched = subprocess.run([SPILE, "-e", SCRIPT, "-c", f"{PROGRAM} {THREADS} {CALLS}"], capture_output=True, text=True,
                          timeout=600)
print(launched.stderr, end="")
good = check("launched", launched.stdout, begun)

target = subprocess.Popen([PROGRAM, str(THREADS), str(CALLS), "60000"], stdout=subprocess.PIPE, text=True)
target.stdout.readline()
print("without spile, MiB:", memory(target.pid))
begun = time.monotonic()
session = subprocess.Popen([SPILE, "-v", "-e", SCRIPT, "-x", str(target.pid)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
for line in session.stderr:
    if line.startswith("Armed"):
        print(f"after {time.monotonic() - begun:.1f} s: {line.strip()}")
        break
print("armed, MiB:", memory(target.pid))
out, err = session.communicate(timeout=600)
print("\n".join(line for line in err.splitlines() if "warning" in line.lower() or "error" in line.lower()))
good &= check("attached", out, begun)
target.wait(60)
sys.exit(0 if good and target.returncode == 0 else 1)
