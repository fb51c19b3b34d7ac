# $$parms of thousands of functions without debug information: one warning, which names the package that has it, and no look-up
# for each function.
from spiletest import *

postgres = installed("postgres", "/usr/lib/postgresql/15/bin")
if not postgres:
    skip("postgres is not installed")
os.environ.pop("DEBUGINFOD_URLS", None)
listed = spile("-l", f'process("{postgres}").function("*").call').expect(status=0).out.count("\n")
expect_true(listed > 5000, f"{listed} functions")
# Each look-up of the package reads dpkg's lists for 20 ms: for each function it would take minutes.
began = processor_seconds()
result = spile("-p2", "-e", f'probe process("{postgres}").function("*").call {{ println($$parms) }}', "-c", postgres).expect(status=0)
expect_true(processor_seconds() - began < 40, f"{processor_seconds() - began} s of processor time")
expect(result.err.count("is empty in functions of"), 1, "warnings")
