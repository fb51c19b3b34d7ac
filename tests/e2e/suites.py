# variants: sqlite3 throws clang
# Real programs with all of their functions probed, entry and return: their output is what it is un-probed.
# tools/torture/suites.py has longer ones, and more programs.
from spiletest import *

sys.path.insert(0, str(ROOT / "tools/torture"))
import suites

counted = {"sqlite3": lambda: suites.sqlite3(300), "throws": lambda: suites.throws(500), "clang": suites.clang}[VARIANT]()
least = {"sqlite3": 100000, "throws": 2000, "clang": 1000000}[VARIANT]
expect_true(counted[0] > least and counted[1] > 0.7 * counted[0], f"entries and returns {counted}")
