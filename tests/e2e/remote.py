# --remote runs a script by ssh as two users, each line with its machine's name; one that fails does not stop the others; Ctrl-C
# ends all.
# long
from sshtest import *

calls = program("calls")
script = f'global n probe process("{calls}").function("foo") {{ n++ }} probe end {{ printf("%d calls as %d\\n", n, uid()) }}'
hosts = ["--remote=root@one", "--remote=postgres@two"]
result = spile(*hosts, "-e", script, "-c", f"{calls} 1000").expect(status=0, err="")
lines = sorted(line for line in result.out.splitlines() if "calls as" in line)
expect(lines, sorted(["root@one: 1000 calls as 0", f"postgres@two: 1000 calls as {other.pw_uid}"]))

# One machine is not there.
(folder / "ssh_config").write_text((folder / "ssh_config").read_text().replace("Host *\n", "Host gone\n  Port 1\nHost *\n", 1))
result = spile("--remote=gone", *hosts, "-e", script, "-c", f"{calls} 1000").expect(status=1, err_match="spile: gone: ssh failed")
expect(sorted(line for line in result.out.splitlines() if "calls as" in line), lines)

# A process there, until Ctrl-C here; nothing is left behind. Its path has a blank.
(folder / "a folder").mkdir()
shutil.copy(program("server"), folder / "a folder")
target = start(folder / "a folder/server", 60, 1, ready="ready")
program_there = os.readlink(f"/proc/{target.pid}/exe")
script = f'global n, said probe process("{program_there}").function("*") {{ n++ }} probe timer.ms(20) {{ if (n > 0 && !said++) println("hits") }} probe end {{ println("end") }}'
tracing = start(SPILE, "--remote=root@one", "-e", script, "-x", str(target.pid), ready="root@one: hits")
tracing.send_signal(signal.SIGINT)
expect(tracing.communicate(timeout=300)[0].decode(), "root@one: end\n")
expect(tracing.returncode, 0)
expect_untouched(target.pid)

# A name is looked up there: each of the two users finds its own processes only, and a machine without one says so.
name = f"elsewhere{os.getpid()}"
(folder / name).symlink_to(program_there)
named = start(folder / name, 60, 1, ready="ready")
tracing = spile(*hosts, "-e", script.replace('println("hits")', "exit()"), "-x", name).expect(status=1, out="root@one: end\n", err_match=rf"postgres@two: spile: no process is called '{name}'")
spile("-e", script, "-x", name + "x").expect(status=1, err_match="no process is called")

# Mistakes.
spile("--remote=root@one", "-e", "probe process.function(\"f\") {}", "-x", "1").expect(status=1, err_match="the script does not say which program")
spile("--remote=root@one", "-e", "probe begin { println(1 }").expect(status=1, out="", err_match="error")
spile("--remote=-oProxyCommand=x", "-e", "probe begin {}").expect(status=1, err_match="invalid host")
