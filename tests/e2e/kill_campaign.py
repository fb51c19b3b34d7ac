# SIGKILL of spile, of its target, of a thread in a handler, at random moments: survivors are unharmed and nothing is left.
# tools/torture/kill_campaign.py does it 500 times.
# long
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
from kill_campaign import campaign

campaign(100 if LONG_FORM else 15, seed=1)
