# --remote runs a script by ssh as two users, each line with its machine's name; one that fails does not stop the others; Ctrl-C ends all.
from spiletest import *

sshd = installed("sshd")
if os.geteuid() != 0:
    skip("needs root, to let another user log in by ssh")
try:
    other = pwd.getpwnam("postgres")
except KeyError:
    skip("the user postgres, who has a shell, is not there")
folder = temporary_directory()
folder.chmod(0o755)
port = free_port()
for name in ("host", "user"):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
os.makedirs("/run/sshd", exist_ok=True)
(folder / "keys").write_text((folder / "user.pub").read_text())
(folder / "sshd_config").write_text(f"""Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/keys
StrictModes no
UsePAM yes
PermitRootLogin yes
PasswordAuthentication no
PidFile none
""")
(folder / "ssh_config").write_text(f"""Host *
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/user
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
  BatchMode yes
""")
start(sshd, "-D", "-e", "-f", str(folder / "sshd_config"))
os.environ["SPILE_SSH"] = f"ssh -F {folder}/ssh_config"


def answers():
    return subprocess.run(["ssh", "-F", folder / "ssh_config", "root@here", "true"], capture_output=True).returncode == 0


wait_until(answers, 30, "sshd answers")

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

# A process there, until Ctrl-C here; nothing is left behind.
target = server()
program_there = os.readlink(f"/proc/{target.pid}/exe")
script = f'global n, said probe process("{program_there}").function("*") {{ n++ }} probe timer.ms(20) {{ if (n > 0 && !said++) println("hits") }} probe end {{ println("end") }}'
tracing = start(SPILE, "--remote=root@one", "-e", script, "-x", str(target.pid), ready="root@one: hits")
tracing.send_signal(signal.SIGINT)
expect(tracing.communicate(timeout=60)[0].decode(), "root@one: end\n")
expect(tracing.returncode, 0)
expect_untouched(target.pid)

# Mistakes.
spile("--remote=root@one", "-e", "probe process.function(\"f\") {}", "-x", "1").expect(status=1, err_match="the script does not say which program")
spile("--remote=root@one", "-e", "probe begin { println(1 }").expect(status=1, out="", err_match="error")
spile("--remote=-oProxyCommand=x", "-e", "probe begin {}").expect(status=1, err_match="invalid host")
