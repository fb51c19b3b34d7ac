# variants: entries returns libc
# Attaching to and detaching from a program whose threads fork all the time: no child dies or is half probed.
# tools/torture/fork_campaign.py does it 200 times.
# long
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
from fork_campaign import campaign

campaign({"entries": 15, "returns": 15, "libc": 4}[VARIANT], VARIANT)
