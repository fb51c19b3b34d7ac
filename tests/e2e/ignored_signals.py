# Signals that are ignored when spile starts: SIGINT, as a shell starts the background jobs of a script, ends a session
# nevertheless, also one that comes while it compiles; SIGHUP, as nohup(1) starts a program, does not. Commands of -c have both as
# spile got them.
from spiletest import *

target = server()
for moment in ("compiling", "armed"):
    shell = subprocess.Popen(["sh", "-c", f"""'{SPILE}' -e 'global n probe begin {{ println("armed") }}
probe process.function("work") {{ n++ }} probe end {{ println(n > 0 ? "end" : "early") }}' -x {target.pid} &
echo $!; wait $!; echo status $?"""], stdout=subprocess.PIPE, text=True)
    pid = int(shell.stdout.readline())
    if moment == "armed":
        expect(shell.stdout.readline(), "armed\n")
        time.sleep(0.1)
    else:
        wait_until(lambda: "spile" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[0], 60,
                   "spile to be there")
        wait_until(lambda: int(re.search(r"^SigBlk:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1],
                               16) & 1 << signal.SIGINT - 1, 60, "spile to keep SIGINT")
    os.kill(pid, signal.SIGINT)
    out, _ = shell.communicate(timeout=300)
    expect_match(r"(?s)^.*status 0\n$", out, moment)
    expect_true(moment == "compiling" or "end\n" in out, out)
    expect_untouched(target.pid)

ignoring = dict(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), stdout=subprocess.PIPE, text=True)
nohup = subprocess.Popen([str(SPILE), "-e", 'probe begin { println("armed") } probe process.function("work") { } '
                                            'probe end { println("end") }', "-x", str(target.pid)], **ignoring)
expect(nohup.stdout.readline(), "armed\n")
os.kill(nohup.pid, signal.SIGHUP)
time.sleep(0.5)
expect(nohup.poll(), None, "it outlives SIGHUP")
os.kill(nohup.pid, signal.SIGTERM)
expect((nohup.communicate(timeout=300)[0], nohup.returncode), ("end\n", 0))
expect_untouched(target.pid)

got = subprocess.run(["sh", "-c", f"""trap '' INT HUP; '{SPILE}' -e 'probe begin {{ }}' -c 'grep -E "^Sig(Ign|Blk)" """
                                  f"""/proc/self/status'"""], stdout=subprocess.PIPE, text=True, timeout=60).stdout
masks = dict(line.split() for line in got.splitlines())
expect((int(masks["SigBlk:"], 16), int(masks["SigIgn:"], 16) & 3), (0, 3), got)
