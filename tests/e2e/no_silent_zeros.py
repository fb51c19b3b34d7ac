# variants: never_loaded nothing_there exec no_proc symlink
# Where nobody could look, that is said, with a number; a count of 0 means that nothing happened.
from spiletest import *

WORK = 'global n probe process("%s").function("work") { n++ } probe end { println(n > 10) }'
if VARIANT == "never_loaded":
    spile("-e", WORK % program("server"), "-c", "true").expect(
        out="0\n", status=0, err_match=r"^WARNING: .*/server was never loaded by a traced process: 1 of the script's 1 probed place was never in place$")
    # One warning, however many files a pattern names.
    pattern = f"{pathlib.Path(program('server')).parent}/*"
    result = spile("-e", f'probe process("{pattern}").function("work") {{ }}', "-c", "true")
    expect(len(re.findall("never loaded", result.err)), 1, str(result))
    result = spile("-e", WORK % program("server"), "-c", f"{program('server')} 1")
    result.expect(status=0, out_match="^1$")
    expect_true("never loaded" not in result.err, f"nothing to say: {result}")
elif VARIANT == "nothing_there":
    process = server()
    spile("-e", WORK % program("family") + " probe timer.ms(300) { exit() }", "-x", process.pid).expect(
        out="0\n", status=0, err_match=rf"^WARNING: process {process.pid} has not loaded .*/family, which the script probes")
    expect_untouched(process.pid)
elif VARIANT == "exec":
    shell = installed("bash")
    process = start(shell, "-c", "echo ready; read line; exec sleep 1", ready="ready", stdin=subprocess.PIPE)  # sleep: any other program
    session = Session("-v", "-e", 'global n probe process.function("execute_command") { n++ } probe end { println(n) }', "-x", process.pid)
    session.attached(process.pid)
    process.stdin.write(b"\n")
    process.stdin.flush()
    session.wait().expect(out_match=r"^\d+$", status=0, err_match=rf"^WARNING: process {process.pid} now executes \S*sleep, which the script does not probe")
elif VARIANT == "no_proc":
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        skip("needs root, and leave to make a mount namespace")
    process = start("unshare", "-m", "--propagation", "private", "sh", "-c",
                    f"umount -l /proc && exec '{program('server')}' 60", ready="ready")
    expect_true(not pathlib.Path(f"/proc/{process.pid}/root/proc/self").exists(), "it has no /proc")
    session = Session("-v", "-e", """global n, r probe process.function("work") { n++ } probe process.function("work").return { r++ }
probe process.library("libc.so.6").function("usleep") { u = 1 } probe end { printf("%d %d\\n", n > 1000, r > 1000) }""", "-x", process.pid)
    session.wait_message("^Armed")
    wait_turns(process.pid)
    session.stop().expect(out="1 1\n", status=0)
    expect(foreign_mappings(process.pid), [], "mappings left behind")
    expect_match(r"^calls \d+ wrong 0$", finish(process))
else:
    # In another root directory, by a path with symbolic links there.
    if os.geteuid() != 0:
        skip("needs root for chroot")
    root = temporary_directory() / "root"
    libraries = subprocess.run(["ldd", program("server")], capture_output=True, text=True).stdout
    for file in re.findall(r"(/\S+) \(", libraries):
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    (root / "real").mkdir()
    shutil.copy(program("server"), root / "real/server")
    (root / "linked").symlink_to("/real")
    process = start("chroot", root, "/linked/server", 60, ready="ready")
    for name in ("/linked/server", "/real/server"):
        spile("-e", WORK % name + ' probe timer.ms(100) { if (n > 10) exit() }', "-T", "30", "-x", process.pid).expect(out="1\n", status=0)
