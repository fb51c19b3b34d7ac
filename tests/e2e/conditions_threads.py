# Sites switched on and off a thousand times a second while eight threads hit them: nobody is harmed, and while a site is
# off, nothing of it is counted.
import subprocess
from spiletest import *

target = subprocess.Popen([program("toggles"), "0", "8"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    done = spile("-x", str(target.pid), "-e", r"""
global on, flips, hits, returns
probe timer.ms(1) { on = !on; if (++flips >= 600) exit() }
probe process.function("work") if (on) { hits++ }
probe process.function("work").return if (on) { returns++ }
probe end { println(flips, " ", hits > 0, " ", returns > 0) }
""").expect(out_match=r"^600 1 1$")
    assert target.poll() is None, "the target lives"
    out, _ = target.communicate("\n", timeout=300)
    expect_match(r"^calls \d+$", out)
    expect(target.returncode, 0, "the target's status")
finally:
    target.kill()
