# spile killed again and again while its target opens and closes a library all the time: the target lives, and its results are
# right.
from spiletest import *
import random

target = subprocess.Popen([program("toggled"), BUILD / "programs/libplugin.so", "8"], stdout=subprocess.PIPE, text=True)
expect(target.stdout.readline(), "running\n")
random.seed(3)
end = time.monotonic() + 6
while time.monotonic() < end:
    tracer = subprocess.Popen([SPILE, "-e", 'global c probe process.function("steady") { c++ }', "-x", str(target.pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05 + random.random() * 0.1)  # what is tested: any moment of its start
    tracer.kill()
    tracer.wait()
expect_match(r"^calls \d+ wrong 0$", target.stdout.read(), "what the target says")
expect(target.wait(), 0, "its status")
