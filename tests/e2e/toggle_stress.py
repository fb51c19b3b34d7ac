# Probes go on and off all the time in a program of eight threads with SIGPROF, forks and dlopens: counts are exact, the
# program is unharmed. tools/torture/toggle_stress.py does it for longer.
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
from toggle_stress import stress

switches, calls = stress(2)
expect_true(switches >= 8 and calls > 1000, f"{switches} switches, {calls} calls")
