# The unit tools/systemd/spile@.service: systemd accepts it, and a spile with its capabilities and no others probes a process of another user and the kernel, and serves the globals.
import urllib.request
from spiletest import *

if os.geteuid() != 0:
    skip("giving capabilities away needs root")
unit = (ROOT / "tools/systemd/spile@.service").read_text()
folder = temporary_directory()
if shutil.which("systemd-analyze"):
    (folder / "spile@.service").write_text(unit.replace("/usr/bin/spile", str(SPILE)).replace("man:spile(1)", "https://localhost/"))
    checked = subprocess.run(["systemd-analyze", "verify", folder / "spile@.service"], capture_output=True, text=True, timeout=60)
    expect([line for line in checked.stderr.splitlines() if "spile@" in line], [], "systemd's complaints")

granted = ",".join(["-all"] + ["+" + name.removeprefix("CAP_").lower() for name in re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)[1].split()])
target = start(program("server"), 60, user="nobody", ready="ready")
port = free_port()


def serves(script, pattern, *more):
    (folder / "x.stp").write_text(script)
    session = start("setpriv", f"--bounding-set={granted}", f"--inh-caps={granted}", "--no-new-privs", SPILE, "--http", port, *more, folder / "x.stp")

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
