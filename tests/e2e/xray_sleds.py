# LLVM's XRay writes over the begin of functions when it is turned on, which is after they were armed: both see all calls, and so
# they do when it is off.
from spiletest import *

binary = program("sleds")
place = temporary_directory()
NAMES = ["factorial", "leaf", "looped"]
SCRIPT = "global e, r\n" + "".join(f'probe process.function("{n}").call {{ e[ppfunc()]++ }} '
                                   f'probe process.function("{n}").return {{ r[ppfunc()]++ }}\n' for n in NAMES)
SCRIPT += 'probe end { foreach (f+ in e) printf("%s %d %d\\n", f, e[f], r[f]) }'


def logged():
    """The size of what XRay has written down: the calls, without times that differ."""
    sizes = [path.stat().st_size for path in place.glob("xray-log.*")]
    for path in place.glob("xray-log.*"):
        path.unlink()
    return sizes


os.environ["XRAY_BASIC_OPTIONS"] = "func_duration_threshold_us=0"
for options in ["patch_premain=false", "patch_premain=true xray_mode=xray-basic"]:
    os.environ["XRAY_OPTIONS"] = options
    own = subprocess.run([binary], cwd=place, capture_output=True).stdout.decode()
    own_log = logged()
    result = spile("-e", SCRIPT, "-c", binary, cwd=place)
    result.expect(status=0, out=own + "factorial 600 600\nleaf 1100 1100\nlooped 100 100\n")
    expect(logged(), own_log, f"XRay's log, {options}\n{result}")
expect_true(own_log and own_log[0] > 10000, f"XRay has written nothing down: {own_log}")
