# A printf with many strings is compiled in a time that grows with their number, not with its square or more: 64 strings took half
# a minute.
import resource
from spiletest import *

calls = program("calls")


def compiled_in(count):
    script = (f'global s probe begin {{ s = "ab" }} probe process.function("foo") {{ printf("{"%s-" * count}\\n", '
              f'{", ".join(["s"] * count)}) }}')
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = spile("--disable-cache", "-e", script, "-c", f"{calls} 1").expect(status=0).out
    expect([line for line in out.splitlines() if line.startswith("ab-")], ["ab-" * count])
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


compiled_in(8)
seconds = compiled_in(64)
assert seconds < 5, f"{seconds:.1f} s of processor time"
