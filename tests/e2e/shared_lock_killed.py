# Processes are killed within handlers that hold the lock of a global which others share: those lose nothing and go on.
# tools/torture/shared_lock.py does it 100 times.
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
from shared_lock import campaign

campaign(100 if LONG_FORM else 20, seed=1)
