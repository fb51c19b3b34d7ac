# Functions of the library about structures of the kernel, of a connection, a signal and limits that are known.
import resource
import signal
import socket

from spiletest import *

if os.geteuid() != 0 or not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
    skip("probes of the kernel need root and the kernel's type information")

# A child that is stopped until it is probed: it connects to us, and gets a signal whose handler blocks two others.
with socket.create_server(("127.0.0.1", 0)) as server:
    port = server.getsockname()[1]
    program = temporary_directory() / "child.py"
    program.write_text(f"""
import ctypes, os, resource, signal, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
libc = ctypes.CDLL(None)
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("rest", ctypes.c_void_p)]
@ctypes.CFUNCTYPE(None, ctypes.c_int)
def handler(number): pass
action = Action(ctypes.cast(handler, ctypes.c_void_p).value)
action.mask[0] = 1 << signal.SIGHUP - 1 | 1 << signal.SIGTERM - 1
libc.sigaction(signal.SIGUSR1, ctypes.byref(action), None)
socket.create_connection(("127.0.0.1", {port})).close()
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
""")
    script = """
global connected, delivered
probe signal.send { if (pid() == target() && sig == 10) printf("%s %d\\n", si_code, send2queue) }
probe kernel.trace("sock:inet_sock_set_state") {
  if (pid() != target() || connected || !inet_get_dest_port($sk)) next
  connected = 1
  printf("%s %s %d\\n", inet_get_ip_dest($sk), inet_get_ip_source($sk), inet_get_dest_port($sk))
}
probe kernel.trace("signal:signal_deliver") {
  if (pid() != target() || $sig != 10 || delivered) next
  delivered = 1
  printf("%s %s %d %d\\n", sigset_mask_str(get_sigaction_mask($ka)), sigset_mask_str(get_sigset(&$ka->sa->sa_mask)),
         sa_handler($ka) == get_sa_handler($ka), sa_handler($ka) > 1)
  files = rlimit_from_str("RLIMIT_NOFILE")
  printf("%d %d\\n", task_rlimit(task_current(), files), task_rlimit_max(task_current(), files))
}"""
    result = spile("-e", script, "-c", f"{sys.executable} {program}").expect(status=0)
lines = [line for line in result.out.splitlines() if "=" not in line]
expect(sorted(lines),
       sorted([f"127.0.0.1 127.0.0.1 {port}", "SIGHUP|SIGTERM SIGHUP|SIGTERM 1 1", "100 200", "SI_USER 0", "SI_TKILL 0"]))

limits = resource.getrlimit(resource.RLIMIT_NOFILE)
own = spile("-e", 'probe begin { printf("%d %d\\n", task_rlimit(task_current(), 7), task_rlimit_max(task_current(), 7)) '
            'try { task_rlimit(task_current(), 16) } catch (why) { println(why) } exit() }').expect(status=0)
expect(own.out, f"{limits[0]} {limits[1]}\ntask_rlimit: 16 is not the number of a resource limit\n")

# The first disk's partitions, by the kernel's rule for names.
spile("-p4", "-e", 'probe kernel.trace("block:block_rq_issue") { println(disk_name($rq->q->disk, 1)) }').expect(status=0)
