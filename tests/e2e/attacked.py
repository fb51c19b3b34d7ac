# variants: data output process
# The bounded form of tools/torture/attack.py: a program of another user's attacks the spile that traces it, while scripts of all
# features run. No crash, no hang, no file nor process that a script did not ask for. Other seeds each day; a failure prints its
# own.
# long
import datetime
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
import attack

SCRIPTS = {"data": "count,timers,nested,strings,histogram,errors,memory,display",
           "output": "printf,bulk,files,recorder,procfs,system,conditions",
           "process": "stacks,callers,returns,lives,calls,profile"}
if os.geteuid() != 0:
    skip("needs root, to trace a program of another user")
program("attacker")
scripts = SCRIPTS[VARIANT]
seed = int(os.environ.get("SPILE_SEED", datetime.date.today().toordinal()))
expect(attack.main(["--spile", str(SPILE), "--script", scripts, "--rounds", str(len(scripts.split(","))), "--seconds", "0.4",
                      "--seed", str(seed), "--limit", "60"]), 0, f"what tools/torture/attack.py returns, with the seed {seed}")
