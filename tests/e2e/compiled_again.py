# The second run of a script takes its machine code from the cache, and does the same; what differs is compiled anew.
from spiletest import *

SCRIPT = 'global c probe process.function("foo") { c++ } probe end { println(c) }'


def run(*arguments, cache=True, script=SCRIPT, calls=7):
    os.environ["XDG_CACHE_HOME"] = str(folder) if cache else ""
    os.environ["HOME"] = ""
    result = spile("-v", *arguments, "-e", script, "-c", f"{program('calls')} {calls}")
    expect(result.status, 0, str(result))
    return result.out.split()[-1], "took from the cache" in result.err


folder = temporary_directory() / "cache"
expect(run(), ("7", False))
expect(run(), ("7", True))
expect(run(calls=9), ("9", True))
expect(run(script=SCRIPT.replace("c++", "c += 2")), ("14", False))
expect(run("--disable-cache"), ("7", False))
expect(run(cache=False), ("7", False))

# Entries that are damaged are made anew, and in the end all are gone.
code = folder / "spile/code"
for entry in code.iterdir():
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")
expect(run(), ("7", False))
expect(run(), ("7", True))
expect(spile("--clean-cache").status, 0)
expect(code.exists(), False)
expect(run(), ("7", False))
