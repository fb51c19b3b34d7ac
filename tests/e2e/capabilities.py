# Which capabilities suffice for the kernel side, and how those are named that are missing: CAP_BPF and CAP_PERFMON, where tracefs
# can be read.
from spiletest import *

if os.geteuid() != 0:
    skip("giving capabilities away needs root")
if not shutil.which("setpriv"):
    skip("setpriv is not installed")


def limited(names, script, *more):
    granted = ",".join(["-all"] + [f"+{name}" for name in names])
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", granted, "--ambient-caps", granted,
               *spile_words(["-e", script, *more])]
    return subprocess.run(command, capture_output=True, text=True, cwd="/")


count = f'global n probe process("{program("calls")}").function("foo") {{ n++ }} probe end {{ println(n) }}'
run = ("--runtime=bpf", "-c", f"{program('calls')} 10")
both = limited(["bpf", "perfmon"], count, *run)
if "BTF" in both.stderr or "unprivileged" in both.stderr:
    skip(both.stderr)
expect_match(r"^10$", both.stdout, both.stderr)
for names, missing in ((["bpf"], "CAP_PERFMON is missing"), (["perfmon"], "CAP_BPF is missing"), ([], "CAP_BPF and CAP_PERFMON are missing")):
    refused = limited(names, count, *run)
    expect(refused.returncode, 1, f"{names}: {refused.stdout}{refused.stderr}")
    expect_match(rf"^  hint: {missing}: run as root, or with both; ", refused.stderr)
