# variants: deleted replaced library unreadable meanwhile other_file
# What runs is probed, whatever has become of its file since; and what is another file is not touched.
from spiletest import *

SCRIPT = (r'global n, r probe %s.function("work") { if (++n > 2000 && r > 1000) exit() } probe %s.function("work").return { '
          r'r++ } probe end { printf("%%d %%d\n", n > 1000, r > 1000) }')
COUNT = SCRIPT % ("process", "process")
directory = temporary_directory()
copy = directory / "served"
shutil.copy(program("server"), copy)


def served(user=None):
    os.chmod(directory, 0o755)
    return start(copy, 60, user=user, ready="ready")


def unharmed(process):
    expect(foreign_mappings(process.pid), [], "mappings left behind")
    expect_match(r"^calls \d+ wrong 0$", finish(process))


if VARIANT == "deleted":
    process = served()
    copy.unlink()
    spile("-e", COUNT, "-T", "30", "-x", process.pid).expect(out="1 1\n", status=0)
    named = f'process("{copy}")'
    spile("-e", SCRIPT % (named, named), "-T", "30", "-x", process.pid).expect(out="1 1\n", status=0)
    unharmed(process)
elif VARIANT == "replaced":
    process = served()
    other = directory / "other"
    shutil.copy(program("family"), other)  # it has a function work(), too, elsewhere
    other.rename(copy)
    spile("-e", COUNT, "-T", "30", "-x", process.pid).expect(out="1 1\n", status=0)
    unharmed(process)
elif VARIANT in ("library", "unreadable"):
    user = "nobody" if VARIANT == "unreadable" else None
    if user and os.geteuid() != 0:
        skip("needs root to become another user")
    libc = next(path for _, _, _, path in executable_mappings(os.getpid()) if path.endswith("/libc.so.6"))
    os.chmod(directory, 0o755)
    shutil.copy(libc, directory / "libc.so.6")
    process = start(copy, 60, user=user, ready="ready", env={**os.environ, "LD_LIBRARY_PATH": str(directory)})
    (directory / "libc.so.6").unlink()
    script = ('global n probe process.library("libc.so.6").function("usleep") { if (++n > 20) exit() } '
              'probe end { println(n > 10) }')
    result = spile("-e", script, "-T", "30", "-x", process.pid, user=user)
    if user:
        result.expect(status=1,
                      err_match=r"libc.so.6 was replaced after process \d+ mapped it, and the mapped file can't be opened")
    else:
        result.expect(out="1\n", status=0)
    unharmed(process)
elif VARIANT == "meanwhile":
    # A package is upgraded while the script runs, and the program loads a library after that.
    shutil.copy(program("opens"), copy)
    process = start(copy, ready="ready", stdin=subprocess.PIPE)

    def opened(library):
        process.stdin.write(library.encode() + b"\n")
        process.stdin.flush()
        expect(process.stdout.readline(), b"opened 14950\n", "the program runs on")

    session = Session("-v", "-e",
                      'global n, r probe process.function("work") { n++ } probe process.function("work").return { r++ } '
                      r'probe end { printf("%d %d\n", n, r) }', "-x", process.pid).attached(process.pid)
    opened(program("libplugin.so"))
    copy.rename(directory / "renamed")
    opened("libm.so.6")
    (directory / "renamed").unlink()
    opened("libutil.so.1")
    session.stop().expect(out="300 300\n", status=0)
    opened("libm.so.6")
    expect(foreign_mappings(process.pid), [], "mappings left behind")
else:
    # The same path, in another mount namespace, is another file.
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        skip("needs root, and leave to make a mount namespace")
    script = f'global n probe process("{copy}").function("work") {{ n++ }} probe end {{ println(n) }}'
    session = Session("-e", script, "-c", f"unshare -m --propagation private sh -c 'mount --bind {program('family')} {copy} "
                                          f"|| exit 9; exec {copy} 3'")
    session.wait_output("^ready$").wait_message("has mapped another file of that name")
    os.kill(children(session.process.pid)[0], signal.SIGUSR1)
    result = session.wait()
    result.expect(out_match="^members ", status=0, err_match="has mapped another file of that name")
    expect_match("^0$", result.out)
