# Limits that spile itself meets (memory, open files, processes): an error that names the limit, and status 1, wherever it is met.
import resource
from spiletest import *

directory = temporary_directory()


def limited(kind, limit, *words):
    return subprocess.run([str(SPILE), *map(str, words)], preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)), text=True,
                          capture_output=True, timeout=120, env=os.environ | {"XDG_CACHE_HOME": str(directory / "cache")})


MIB = 1 << 20
script = 'probe process.function("main") { println("hit") }'
met = set()
for kind, amounts, hint in ((resource.RLIMIT_AS, [n * MIB for n in (50, 60, 70, 80, 100)], "ulimit -v"),
                            (resource.RLIMIT_DATA, [n * MIB for n in (3, 4, 10, 20, 40)], "ulimit -v, -d"),
                            (resource.RLIMIT_NOFILE, range(8, 30, 2), "ulimit -n")):
    for amount in amounts:
        ended = limited(kind, amount, "-e", script, "-c", f"{program('calls')} 1")
        if "error while loading shared libraries" in ended.stderr or ended.returncode == 0:
            continue
        # The kernel may find no room for spile's own file.
        if ended.returncode == -signal.SIGSEGV and limited(kind, amount, "--version").returncode == ended.returncode:
            continue
        what = f"limit {kind} of {amount}: {ended}"
        expect(ended.returncode, 1, what)
        expect_match(f"(?m)^  hint: .*({re.escape(hint)}|RLIMIT|smaller arrays)", ended.stderr, what)
        met.add(kind)
for limit in 1000, 50 * MIB:
    spile(f"--rlimit-as={limit}", "-e", "probe begin { exit() }").expect(
        status=1, err="spile: there is not enough memory\n  hint: if a limit holds for spile "
        "(ulimit -v, -d, --rlimit-as, memory.max of the cgroup), raise it\n")
expect_true({resource.RLIMIT_DATA, resource.RLIMIT_NOFILE} <= met, f"limits that were met: {met}")
