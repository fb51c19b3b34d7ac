# variants: plain fixed zeroed node
# Programs without PIE: there is room for code near them, and their heap can grow as if nobody traced them.
from spiletest import *

if VARIANT == "node":
    node = installed("node")
    if "EXEC" not in subprocess.run(["readelf", "-h", node], capture_output=True, text=True).stdout:
        skip("node is position-independent here")
    target = start(node, "-e", "console.log('ready'); setInterval(() => require('fs').statSync('/'), 1)", ready="ready")
    result = spile("-e", 'global n probe process.function("uv_fs_stat") { if (++n > 100) exit() } probe end { println(n > 100) }',
                   "-T", "20", "-x", target.pid)
    result.expect(out="1\n", status=0)
    expect(target.poll(), None, "node's status")
    sys.exit(0)

command = ["setarch", "-R", program("low")] if VARIANT == "fixed" else [program("low_zeroed" if VARIANT == "zeroed" else "low")]
target = start(*command, ready="ready", stdin=subprocess.PIPE)
session = Session("-v", "-e", 'global n, r probe process.function("work") { n++ } probe process.function("work").return { r++ } '
                  r'probe end { printf("%d %d\n", n, r) }', "-x", target.pid).attached(target.pid)
for _ in range(8):
    target.stdin.write(b"\n")
    target.stdin.flush()
    expect(target.stdout.readline(), b"failed 0\n", "the heap grows by another 100 MiB")
session.stop().expect(out="800 800\n", status=0)
expect_untouched(target.pid)
