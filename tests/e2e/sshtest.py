"""An sshd on loopback for tests, into which root and the user postgres can log in; every name of a host leads to it. spile's --remote uses it by $SPILE_SSH."""
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
Subsystem sftp internal-sftp
SetEnv "PATH={SPILE.parent}:{os.environ["PATH"]}"
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
