# Tools of examples/kernel that look into programs, here in commands of an ordinary user's: each with a cause that is counted.
import shlex

from spiletest import *

python, user = os.path.realpath(sys.executable), None
if os.geteuid() == 0:
    # As root only if no python3 is one that others may run.
    nobody = ["setpriv", "--reuid=nobody", f"--regid={pwd.getpwnam('nobody').pw_gid}", "--clear-groups"]
    for path in (python, "/usr/bin/python3"):
        if user is None and os.path.exists(path) and subprocess.run([*nobody, path, "-c", f"open({path!r}, 'rb')"],
                                                                    capture_output=True).returncode == 0:
            python, user = os.path.realpath(path), "nobody"
output = temporary_directory(user) / "output"


def tool(name, *command):
    output.unlink(missing_ok=True)
    spile("-o", output, ROOT / "examples/kernel" / f"{name}.stp", "-c", shlex.join(map(str, command)), user=user).expect(status=0)
    return output.read_text()


def lines(pattern, text, count):
    expect(len(re.findall(f"^{pattern}$", text, re.M)), count, f"lines that match {pattern} in {text}")


hosts = tool("gethostlatency", python, "-c", """
import ctypes, socket
for i in range(3): socket.getaddrinfo("localhost", 80)
try: socket.getaddrinfo("no.such.host.invalid", 80)
except socket.gaierror: pass
ctypes.CDLL("libc.so.6").gethostbyname2(b"127.0.0.1", 2)""")
lines(r"\d+ +python\S* +\d+ +0 localhost", hosts, 3)
lines(r"\d+ +python\S* +\d+ +-\d+ no\.such\.host\.invalid", hosts, 1)
lines(r"\d+ +python\S* +\d+ +0 127\.0\.0\.1", hosts, 1)

threads = tool("threadsnoop", python, "-c", """
import threading
for i in range(3):
    t = threading.Thread(target=lambda: None); t.start(); t.join()""")
lines(r"\d+ +\d+ +python\S* +\S+", threads, 3)

# Main waits 20 times for the mutex, for at least 2 ms each.
locks = tool("futexes", program("causes"), "mutex", 20)
waits = [[int(n) for n in found] for found in re.findall(r"^\d+ +causes +0x[0-9a-f]+ +(\d+) +(\d+) +(\d+) +(\d+)$", locks, re.M)]
expect(len([1 for count, total, _, _ in waits if 1 <= count <= 20 and total >= 2000 * count]) >= 1, True, locks)
expect(waits[0][0] <= 20 and waits == sorted(waits, key=lambda wait: -wait[1]), True, locks)

if shutil.which("script") and shutil.which("bash"):
    output.unlink(missing_ok=True)
    shell = subprocess.Popen(
        [SPILE, "-o", output, ROOT / "examples/kernel/bashreadline.stp", "-c", "script -qc 'bash --norc -i' /dev/null"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shell.stdin.write(b"echo 1\necho 2\nexit\n")
    shell.stdin.close()
    text = shell.stdout.read()
    expect(shell.wait(60 * PATIENCE), 0, text)
    lines(r"\d+ +echo [12]", output.read_text(), 2)

# A client and a server in one process: 5 messages of 20 bytes there, of 50 bytes back.
openssl = shutil.which("openssl")
directory = temporary_directory(user)
made = openssl and subprocess.run(
    [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", directory / "key", "-out", directory / "certificate",
     "-days", "1", "-subj", "/CN=localhost"], capture_output=True)
if not made or made.returncode != 0 or subprocess.run([python, "-c", "import ssl"], capture_output=True).returncode != 0:
    skip("the rest needs openssl and python's module ssl")
(directory / "key").chmod(0o644)
talk = directory / "talk.py"
talk.write_text(f"""
import signal, socket, ssl, threading
signal.alarm(60)
def serve():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain({str(directory / "certificate")!r}, {str(directory / "key")!r})
    with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
        while connection.recv(100): connection.send(b"x" * 50)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
server = threading.Thread(target=serve)
server.start()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
with context.wrap_socket(socket.create_connection(listener.getsockname())) as connection:
    for i in range(5):
        connection.send(b"y" * 20)
        assert connection.recv(100) == b"x" * 50
server.join()
""")
if "libssl.so.3" not in subprocess.run(
    ["ldd", subprocess.run([python, "-c", "import _ssl; print(_ssl.__file__)"], capture_output=True, text=True).stdout.strip()],
                                       capture_output=True, text=True).stdout:
    skip("python's module ssl does not use the machine's libssl")
calls = tool("sslsnoop", python, talk)
lines(r"\d+ +\d+ +python\S* +\d+ +1 +0 SSL_do_handshake", calls, 2)
for bytes in (20, 50):
    lines(rf"\d+ +\d+ +python\S* +\d+ +1 +{bytes} SSL_write_ex", calls, 5)
    lines(rf"\d+ +\d+ +python\S* +\d+ +1 +{bytes} SSL_read_ex", calls, 5)
lines(r"\d+ +\d+ +python\S* +\d+ +0 +0 SSL_read_ex", calls, 1)  # the end
expect_match(r" 1 +0 EVP_DigestSign$", calls)
latency = tool("ssllatency", python, talk)
expect_match(r"^SSL_do_handshake: 2 calls, \d+ us on average, \d+ at most\nvalue \|-", latency)
expect_match(r"^SSL_write_ex: 10 calls", latency)
expect_match(r"^SSL_read_ex: 10 calls", latency)
expect_match(r"^SSL_read_ex: 1 calls without a result", latency)
# Of all programs, they run in the kernel: compiled here, tried in a guest where that is needed.
if os.path.exists("/sys/kernel/btf/vmlinux"):
    for name in ("sslsnoop", "ssllatency", "gethostlatency", "threadsnoop", "bashreadline"):
        spile("-p4", ROOT / "examples/kernel" / f"{name}.stp").expect(status=0)
