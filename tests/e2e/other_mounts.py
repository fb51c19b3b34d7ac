# A program in another mount namespace, whose own file can't be seen from outside; and one in another root directory.
from spiletest import *

if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
    skip("needs root, and leave to make a mount namespace")
directory = temporary_directory()


def probe(process):
    """Entries and returns of a function, and one of libc; then nothing is left."""
    result = spile("-e", 'global c, r, u probe process.function("work") { c++ } probe process.function("work").return { r++ } '
                   'probe process.library("libc.so.6").function("usleep") { u++ if (u > 10 && r > 1000) exit() } '
                   'probe end { printf("%d %d\\n", c > 1000, u > 10) }', "-x", process.pid)
    result.expect(out="1 1\n", status=0)
    expect(foreign_mappings(process.pid), [], "mappings left behind")
    expect_match(r"^calls \d+ wrong 0$", finish(process))


hidden = directory / "mounted/hidden"
hidden.parent.mkdir()
probe(start("unshare", "-m", "--propagation", "private", "sh", "-c",
            f"mount -t tmpfs none {hidden.parent} && cp '{program('server')}' {hidden} && exec {hidden} 100 2", ready="ready"))
expect_true(not hidden.exists(), "the file can't be seen here")

root = directory / "root"
root.mkdir()
libraries = subprocess.run(["ldd", program("server")], capture_output=True, text=True).stdout
for file in [program("server"), *re.findall(r"(/\S+) \(", libraries)]:
    (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, root / file[1:])
probe(start("chroot", root, program("server"), 100, 2, ready="ready"))
