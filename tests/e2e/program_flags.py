# Programs that set flags which hit handlers: the alignment check lets their unaligned loads fault, the trap flag stops behind
# each of their instructions. Handlers work, and the program has its flags as they were.
from spiletest import *

binary = program("flags")
symbols = subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout
STATED = f'process("{binary}").statement(0x{re.search("([0-9a-f]+) . stated_at", symbols)[1]})'
if "other 0" not in start(binary, "50", "trap").communicate()[0].decode():
    skip("the processor does not tell single steps from other traps (a hypervisor that does not emulate debug registers)")
LOADS = "s += user_int64($given + 1) n++"
ENTRY = f'probe process.function("probed") {{ {LOADS} }}'
for probes, hits, calls in [
        (ENTRY, 1, 50),
        ('probe process.function("probed").return { s += user_int64(@entry($given) + 1) n++ }', 1, 50),
        (f'{ENTRY} probe process.function("probed").return {{ s += user_int64(@entry($given) + 1) n++ }}', 2, 50),
        (f'probe {STATED} {{ s += user_int64(register("rdi") + 1) n++ }}', 1, 50)]:
    script = f"global n, s {probes} probe end {{ println(n, \" \", s) }}"
    for arguments in [f"{calls}", f"{calls} trap"]:
        own = start(binary, *arguments.split()).communicate()[0].decode()
        expect_match("lost 0 other 0", own, "the program alone")
        result = spile("-e", script, "-c", f"{binary} {arguments}")
        result.expect(status=0, out=own + f"{hits * calls} {7 * hits * calls}\n", err="")
