# Parameters and results of Rust's functions are what the program itself says, however rustc passes them: as one number, as two,
# or in memory. Parameters in code that is not optimized, at the function's entry; results in both.
# variants: debug optimized debian_debug debian_optimized
from spiletest import *

rustc = installed("/usr/bin/rustc" if VARIANT.startswith("debian") else "rustc")
if not rustc:
    skip("rustc is not installed")
PATH = temporary_directory() / "rust_passing"
source = ROOT / "tests" / "programs" / "rust_passing.rs"
subprocess.run([rustc, "-g", *(["-O"] if VARIANT.endswith("optimized") else []), "-A", "warnings", "-o", PATH, source],
               check=True, capture_output=True)
DEBUG = VARIANT.endswith("debug")
parameters = 'probe process.function("rust_passing::pass_*") { printf("%s %s\\n", ppfunc(), $$parms$$) } ' if DEBUG else ""
out = spile("-e", parameters + 'probe process.function("rust_passing::pass_*").return { printf("%s return %s\\n", '
                               'ppfunc(), $return$$) }', "-c", PATH, "-o", "/dev/stderr").expect(status=0)
expected = [line.split(" ", 1) for line in out.out.splitlines()]
expect_true(len(expected) > 30, "too few types")
lines = [line.removeprefix("rust_passing::") for line in out.err.splitlines()]
wanted = []
for name, text in expected:
    text = {"(0.5)": "{.__0=0.5}"}.get(text, text)
    if DEBUG:
        wanted.append(f"{name} x={text} behind=7")
    wanted.append(f"{name} return {text}")
for got, want in zip(lines, wanted):
    expect_true(got == want, f"{got} is not {want}")
expect_true(len(lines) == len(wanted), out.err)
