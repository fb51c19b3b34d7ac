# variants: clang O0 gcc clash profiled profiled_fentry split
# Functions that look at their return addresses, wherever in them that is, and others that are built so that something else does
# (-pg, -fsplit-stack): the program does the same with entries and returns of all functions as without.
from spiletest import *

binary = program(f"return_addresses_{VARIANT}")
place = temporary_directory()
SCRIPT = """global e, r
    probe process.function("*").call { e[ppfunc()]++ }
    probe process.function("*").return { r[ppfunc()]++ }
    probe end { foreach (f+ in e) printf("# %s %d %d\\n", f, e[f], r[f]) }"""


def profile():
    """Who has called whom how often, as gprof's counters say it."""
    lines = subprocess.run(["gprof", "-b", "-q", str(binary), str(place / "gmon.out")], capture_output=True).stdout.decode()
    (place / "gmon.out").unlink()
    return lines


own = subprocess.run([binary], cwd=place, capture_output=True).stdout.decode()
expect_match("strange 0$", own)
own_profile = profile() if "profiled" in VARIANT else ""
result = spile("-DMAXSKIPPED=0", "-e", SCRIPT, "-c", binary, cwd=place).expect(status=0)
lines = result.out.splitlines(True)
expect("".join(line for line in lines if not line.startswith("# ")), own, f"the program's output\n{result}")
counts = {line.split()[1]: line.split()[2:] for line in lines if line.startswith("# ")}
for name in ["early", "cases", "many", "tail", "seldom", "large", "variable", "next"]:
    expect(counts[name], ["20", "0"] if VARIANT != "O0" or name not in ("tail", "next") else ["20", "20"], f"{name}\n{result}")
for name, calls in {"plain": 29, "looped": 26, "chosen": 20}.items():
    expect(counts[name], [str(calls), "0" if own_profile else str(calls)], f"{name}\n{result}")
if own_profile:
    expect_match("-pg, and mcount looks at its return address", result.err)
    expect(profile(), own_profile, "what gprof says")
