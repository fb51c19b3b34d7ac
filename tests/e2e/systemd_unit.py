# The unit tools/systemd/spile@.service: systemd accepts it, and a spile with its capabilities and its system calls, and no
# others, probes a process of another user and the kernel, and serves the globals.
import ctypes.util, urllib.request
from spiletest import *

if os.geteuid() != 0:
    skip("giving capabilities away needs root")
unit = (ROOT / "tools/systemd/spile@.service").read_text()
folder = temporary_directory()
if shutil.which("systemd-analyze"):
    (folder / "spile@.service").write_text(unit.replace("/usr/bin/spile", f'"{SPILE}"').replace("man:spile(1)", "https://localhost/"))
    checked = subprocess.run(["systemd-analyze", "verify", folder / "spile@.service"], capture_output=True, text=True, timeout=300)
    expect([line for line in checked.stderr.splitlines() if "spile@" in line], [], "systemd's complaints")

granted = ",".join(["-all"] + ["+" + name.removeprefix("CAP_").lower() for name in re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)[1].split()])

# The system calls of the unit's filter; none where systemd or libseccomp, which know them, are not installed.
LIMITED = """import ctypes, os, sys
seccomp = ctypes.CDLL("libseccomp.so.2")
seccomp.seccomp_init.restype = ctypes.c_void_p
refuse = ctypes.c_void_p(seccomp.seccomp_init(0x50001))  # SCMP_ACT_ERRNO(EPERM)
for name in sys.argv[1].split():
    if (number := seccomp.seccomp_syscall_resolve_name(name.encode())) >= 0: seccomp.seccomp_rule_add(refuse, 0x7fff0000, number, 0)
if seccomp.seccomp_load(refuse): sys.exit("no filter")
os.execv(sys.argv[2], sys.argv[2:])"""


def calls_of(names):
    for name in names:
        if not name.startswith("@"):
            yield name
            continue
        listed = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        yield from calls_of(word for line in listed if (word := line.strip()) and not word.startswith("#"))


allowed = " ".join(calls_of(re.search(r"^SystemCallFilter=(.*)$", unit, re.M)[1].split())) if shutil.which("systemd-analyze") and ctypes.util.find_library("seccomp") else ""


def limited(calls, *command):
    # systemd has mounted tracefs where it starts a unit; elsewhere this is done in a namespace of its own.
    tracing = ["unshare", "--mount", "sh", "-c", 'mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"', "sh"]
    return [*tracing, "setpriv", f"--bounding-set={granted}", f"--inh-caps={granted}", "--no-new-privs", *(["/usr/bin/python3", "-c", LIMITED, calls] if calls else []), *command]


target = start(program("server"), 60, user="nobody", ready="ready")
port = free_port()


def serves(script, pattern, *more):
    (folder / "x.stp").write_text(script)
    session = start(*limited(allowed, SPILE, "--http", port, *more, folder / "x.stp"))

    def page():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                return reply.read().decode()
        except OSError:
            return ""

    wait_until(lambda: session.poll() is not None or re.search(pattern, page(), re.M), 60, f"{pattern} in the metrics", page)
    expect_true(session.poll() is None, session.poll() is not None and session.stdout.read())
    session.send_signal(signal.SIGTERM)
    finish(session)
    expect(session.returncode, 0, "status after SIGTERM")


serves('global calls probe process.function("work") { calls++ }', r"^spile_global_calls [1-9]", "-x", target.pid)
serves('global switches probe kernel.trace("sched:sched_switch") { if (pid() == target()) switches++ } probe process.function("work") { }', r"^spile_global_switches [1-9]", "-x", target.pid)
serves("global samples probe timer.profile { samples++ }", r"^spile_global_samples [1-9]", "-x", target.pid)
if allowed:
    without = " ".join(name for name in allowed.split() if name != "ptrace")
    refused = subprocess.run(limited(without, str(SPILE), "-e", 'probe process.function("work") { exit() }', "-x", str(target.pid)), capture_output=True, text=True, timeout=300)
    expect((refused.returncode, "Operation not permitted" in refused.stderr), (1, True), f"the filter refuses: {refused.stderr}")
