# procfs probes: files that run a handler when they are read or written.
from spiletest import *

for point, message in [('procfs("x")', "needs .read or .write"), ('procfs("a/b").read', "no name of a file"),
                       ('procfs("x").reed', "did you mean 'read'"), ('procfs("x").read.umask(1)', "read"),
                       ("procfs(5).read", "procfs")]:
    spile("-e", f"probe {point} {{ }}").expect(status=1, out="", err_match=message)

script = r"""
global calls, total, last = "nothing"
probe begin { calls["foo"] = 7 }
probe procfs("total").read { $value = sprintf("%d %s\n", total, last) }
probe procfs("total").write { last = $value; total += strlen($value) }
probe procfs("secret").umask(077).read { $value = "s" }
probe procfs("stop").write { exit() }
probe prometheus { @prometheus_dump_array1(calls, "calls", "name") }
probe procfs.read { $value = "command\n" }
probe end { printf("end %d\n", total) }
"""
name = f"test_{os.getpid()}"
if not os.access("/dev/fuse", os.R_OK | os.W_OK):
    spile("-m", name, "-e", script).expect(status=1, err_match="/dev/fuse.*\n.*need FUSE")
    skip("/dev/fuse is not to be had: only the refusal was tried")
session = Session("-v", "-m", name, "-e", script)
wait_until(lambda: "procfs files are in" in session.read(session.err) or session.process.poll() is not None, 20, "the mount")
if session.process.poll() is not None:
    session.result().expect(status=1, err_match="serve procfs files: mount .*\n.*root, or fusermount3")
    skip("FUSE may not be mounted here: only the refusal was tried")
folder = pathlib.Path(re.search(r"procfs files are in (\S+)", session.read(session.err))[1])
expect(sorted(f.name for f in folder.iterdir()), ["command", "prometheus", "secret", "stop", "total"])
expect((folder / "total").read_text(), "0 nothing\n")
(folder / "total").write_text("abc")
with open(folder / "total", "a") as file:
    file.write("de")
readers = [subprocess.Popen(["cat", folder / "total"], stdout=subprocess.PIPE) for _ in range(8)]
expect({reader.communicate()[0] for reader in readers}, {b"5 de\n"})
(folder / "total").write_bytes(b"x" * 100000)
expect(int((folder / "total").read_text().split()[0]) > 500, True, "big writes come in parts, each cut to MAXSTRINGLEN")
expect((folder / "secret").stat().st_mode & 0o777, 0o400)
expect((folder / "stop").stat().st_mode & 0o777, 0o222)
expect((folder / "command").read_text(), "command\n")
expect_match(r'^calls\{name="foo"\} 7$', (folder / "prometheus").read_text(), "metrics")
expect(subprocess.run(["cat", folder / "none"], capture_output=True).returncode, 1)
(folder / "stop").write_text("now")
session.wait().expect(status=0, out_match=r"^end \d+$")
expect(folder.exists(), False, "the folder is left")

# Killed: the next run takes away what is left.
session = Session("-v", "-m", name, "-e", script)
wait_until(lambda: "procfs files are in" in session.read(session.err), 20, "the mount")
session.process.kill()
session.process.wait()
session = Session("-v", "-m", name + "b", "-e", script)
wait_until(lambda: "procfs files are in" in session.read(session.err), 20, "the mount")
expect(name in [f.name for f in folder.parent.iterdir()], False, "the killed run's folder is left")
(folder.parent / (name + "b") / "stop").write_text("now")
session.wait().expect(status=0)
