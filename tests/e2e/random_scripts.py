# Random scripts print the same in a process and in the kernel (tools/compare_places, which writes as many as wanted), and large
# ones, whose functions are not inlined, are found safe in both places.
# long
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")
probe = spile("-e", 'global a% probe kernel.trace("syscalls:sys_enter_prctl") { a[1]++ }', "-p4")
if "not available" in probe.err:
    skip("this kernel has no BPF arenas: " + probe.err.splitlines()[0])
probe.expect()

# Scripts 17 (a function that one caller gives a constant, another one what it has read) and 19 (a structure as an argument) were
# refused once.
compared = subprocess.run([ROOT / "tools/compare_places", "--seed", "17", "--count", "20"], env={**os.environ, "SPILE": str(SPILE)}, capture_output=True, text=True)
expect(compared.returncode, 0, compared.stdout + compared.stderr)
expect_match(r"^20 scripts: 0 differ, [0-2] are rejected, \d{3,} lines$", compared.stdout)
