# A program that loads and unloads a library all the time is left as it was: nothing is armed for a library that comes while spile
# leaves, and a thread that is led out of a handler step by step keeps no trap flag (it would die of SIGTRAP).
from spiletest import *

target = start("/usr/bin/python3", "-c", """import ctypes, _ctypes, time
print("ready", flush=True)
end = time.time() + 120
while time.time() < end:
    _ctypes.dlclose(ctypes.CDLL("libutil.so.1")._handle)
    time.sleep(0.003)
""", ready="ready")
for turn in range(4):
    for point in ["process.syscall", 'process.library("libc.so.6").function("read").return']:
        spile("-e", f"global n probe {point} {{ n++ }} probe timer.ms(300) {{ exit() }} probe end {{ println(n) }}", "-x", target.pid).expect(status=0, out_match=r"^\d+$")
        expect_true(target.poll() is None, f"{point}: the program goes on, and is not {target.poll()}")
        expect_untouched(target.pid)
