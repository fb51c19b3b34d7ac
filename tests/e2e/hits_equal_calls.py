# Hits equal calls: every function of sqlite3 is hit exactly as often as callgrind, which simulates each instruction, sees
# it called. tools/torture/hits_equal_calls.py does the same over more SQL.
from spiletest import *

installed("valgrind")
sys.path.insert(0, str(ROOT / "tools/torture"))
from hits_equal_calls import compare_sqlite

functions, hits = compare_sqlite(50)
expect_true(functions > 600 and hits > 30000, f"{functions} functions were hit {hits} times")
