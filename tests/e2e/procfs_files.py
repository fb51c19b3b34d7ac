# procfs probes: files that run a handler when they are read or written.
from spiletest import *

for point, message in [('procfs("x")', "needs .read or .write"), ('procfs("a/../b").read', "not a valid file name"),
                       ('procfs("/a").read', "not a valid file name"), ('procfs("x").maxsize(0).read', "out of range"),
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
probe procfs("long").read { for (i = 0; i < 500; i++) $value .= sprintf("line %d of a long text\n", i) }
probe procfs("long").write { parts[n++] = strlen($value); sum += strlen($value) }
probe procfs("short").read.maxsize(10) { $value = "0123456789abcdef"; $value .= "ghi" }
probe procfs("short").maxsize(3).write { words .= "<" . $value . ">" }
probe procfs("folder/inner/words").read { $value = "old"; $value = words . "\n" }
probe procfs("folder/sum").read { $value = sprintf("%d %d\n", n, sum) }
global parts, n, sum, words = ""
probe end { foreach (p in parts) {} ; printf("end %d\n", total) }
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
expect(sorted(f.name for f in folder.iterdir()), ["command", "folder", "long", "prometheus", "secret", "short", "stop", "total"])
expect((folder / "total").read_text(), "0 nothing\n")
(folder / "total").write_text("abc")
with open(folder / "total", "a") as file:
    file.write("de")
readers = [subprocess.Popen(["cat", folder / "total"], stdout=subprocess.PIPE) for _ in range(8)]
expect({reader.communicate()[0] for reader in readers}, {b"5 de\n"})
(folder / "total").write_bytes(b"x" * 100000)
expect((folder / "total").read_text().split()[0], str(5 + 100000), "big writes come in parts, none of it lost")
lines = "".join(f"line {i} of a long text\n" for i in range(500))
expect((folder / "long").read_text(), lines, "longer than MAXSTRINGLEN")
dd = subprocess.run(["dd", f"if={folder / 'long'}", "bs=100", "skip=3", "count=2", "status=none"], capture_output=True)
expect(dd.stdout.decode(), lines[300:500], "a part of it, at an offset")
with open(folder / "long", "rb", buffering=0) as file:
    expect(b"".join(iter(lambda: file.read(7), b"")).decode(), lines, "in parts of 7 bytes")
(folder / "long").write_text(lines)
expect((folder / "folder/sum").read_text().split()[1], str(len(lines)))
expect((folder / "short").read_text(), "0123456789", "maxsize of a read")
(folder / "short").write_text("abcdefgh")
expect((folder / "folder/inner/words").read_text(), "<abc><def><gh>\n", "maxsize of a write; folders")
expect(sorted(f.name for f in (folder / "folder").iterdir()), ["inner", "sum"])
expect(subprocess.run(["cat", folder / "folder"], capture_output=True).returncode, 1)
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
# Where /run can't be written to, the folder is in /tmp.
if os.geteuid() == 0 and shutil.which("unshare"):
    command = shlex.join([str(SPILE), "-v", "-e", 'probe procfs("x").read { $value = "1" } probe timer.ms(50) { exit() }'])
    hidden = f"mount -t tmpfs -o ro none /run && {command}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", hidden], capture_output=True, text=True)
    expect(done.returncode, 0, done.stderr)
    expect_match(r"procfs files are in /tmp/spile-0/\d+", done.stdout + done.stderr)
# What a handler only writes is shown at the end, but for $value.
spile("-e", 'global w probe procfs("x").read { $value = "a"; w = 3 } probe begin { w = 1; exit() }').expect(out="w=1\n", status=0)
