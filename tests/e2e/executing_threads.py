# variants: counted attached
# A thread other than the first executes a program: the kernel ends all others, and it takes the first one's number. What the
# threads had of the arena is free again, and nobody who was about to do something with the first one does it to the new program.
from spiletest import *

PROGRAM = program("executes")

if VARIANT == "counted":
    runs, threads = 600, 3  # many more than there are slots where there is so little room
    script = f'global n, r probe process("{PROGRAM}").function("foo") {{ n++ }} probe process("{PROGRAM}").function("foo").return {{ r++ }} probe end {{ println(n, " ", r) }}'
    calls = runs * (threads + 1)
    limited = subprocess.run(["sh", "-c", 'ulimit -v 1000000; exec "$0" "$@"', SPILE, "-e", script, "-c",
                              command_line(f"{PROGRAM} {runs} {threads}")], capture_output=True, text=True)
    expect(limited.stdout + limited.stderr, f"done\n{calls} {calls}\n", "all calls, and nothing skipped")
else:
    target = start(PROGRAM, 1000000, 3)
    points = ["process.begin", f'process("{PROGRAM}").function("foo").return', "process.syscall"]
    for turn in range(12):
        point = points[turn % len(points)]
        result = spile("-w", "-e", f"global n probe {point} {{ n++ }} probe timer.ms(200) {{ exit() }} probe end {{ println(n) }}", "-x", target.pid, timeout=60)
        result.expect(status=0, out_match=r"^\d+$")
        expect_true(result.err == "" and target.poll() is None, f"{point}: {result}; the program: {target.poll()}")
