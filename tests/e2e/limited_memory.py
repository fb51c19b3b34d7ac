# A limited address space (ulimit -v): probed where it has room for it, else an error that says what to do.
from spiletest import *
import resource

calls = program("calls")
SCRIPT = """global c, s probe process("CALLS").function("foo") { c++; s[tid()]++ } probe process("CALLS").function("foo").return { c++ }
probe end { printf("%d %d\\n", c, s[target()]) }""".replace("CALLS", calls)
for limit in [1 << 20, 100 << 10]:
    result = spile("-e", SCRIPT, "-c", f"sh -c 'ulimit -v {limit}; exec {calls} 1000'").expect(status=0)
    expect_match(r"^2000 1000$", result.out, f"counts with {limit} KiB")
tight = spile("-e", SCRIPT, "-c", f"sh -c 'ulimit -v 12000; exec {calls} 1000'")
expect_match(r"address space is limited to 11\.7 MiB \(RLIMIT_AS\).*prlimit --pid", tight.err, "the error")
# Each mapping of a process that already runs names the limit that forbids it. In KiB above what it has, and what could not be
# mapped.
WALLS = {(resource.RLIMIT_AS, 64): "the process table", (resource.RLIMIT_AS, 8 << 10): "the arena", (resource.RLIMIT_AS, 20 << 10): "code",
         (resource.RLIMIT_DATA, 0): "the process table"}
for (kind, more), what in WALLS.items():
    field, name, option = (("VmSize", "RLIMIT_AS", "as"), ("VmData", "RLIMIT_DATA", "data"))[kind == resource.RLIMIT_DATA]
    process = server()
    wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2, 10, "its thread")
    has = int(re.search(field + r":\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]) << 10
    resource.prlimit(process.pid, kind, (has + (more << 10),) * 2)
    result = spile("-e", 'probe process.function("work") { exit() }', "-x", process.pid)
    result.expect(status=1, err_match=rf"map {what} in process \d+: .*\n  hint: .* limited to [\d.]+ MiB \({name}\).*prlimit --pid \d+ --{option}=BYTES")
    finish(process)
# spile itself may be limited, and what it starts with it.
limited = subprocess.run(["sh", "-c", 'ulimit -v 3000000; exec "$0" "$@"', SPILE, "-e", SCRIPT, "-c",
                          command_line(f"{calls} 1000")], capture_output=True, text=True)
expect_match(r"^2000 1000$", limited.stdout, "counts of a limited spile: " + limited.stderr)
