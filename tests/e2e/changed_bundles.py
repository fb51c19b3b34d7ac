# Bundles whose code or tables somebody has changed, under right checksums: spile-run ends with a status, and programs survive all
# but very few. tools/torture/bundle_campaign.py does it for as long as one likes; docs/security.md says what can't be promised.
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
import bundle_campaign

expect(bundle_campaign.main(["--seconds", "12", "--seed", "14"]), 0, "what tools/torture/bundle_campaign.py returns")
