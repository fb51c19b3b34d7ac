# --http: procfs read probes over HTTP on the loopback interface.
import http.client
from spiletest import *

SCRIPT = r"""
global calls
probe begin { calls["foo"] = 7; for (i = 0; i < 100; i++) calls[sprintf("name %d", i)] = i }
probe prometheus { @prometheus_dump_array1(calls, "calls", "name") }
probe procfs("folder/x.json").read { $value = "{}" }
probe procfs("secret").umask(077).read { $value = "s" }
"""
session = Session("-v", "--http=0", "-e", SCRIPT)
wait_until(lambda: "files are at" in session.read(session.err) or session.process.poll() is not None, 60, "the server",
           lambda: session.read(session.err))
port = int(re.search(r"procfs files are at http://127\.0\.0\.1:(\d+)/", session.read(session.err))[1])


def get(path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, headers={"Host": host} if host else {})
    reply = connection.getresponse()
    return reply.status, reply.read().decode(), reply.getheader("Content-Type")


expect(get("/"), (200, "folder/x.json\nprometheus\n", "text/plain; charset=utf-8"))
status, metrics, kind = get("/prometheus")
expect((status, len(metrics.splitlines()), kind), (200, 101, "text/plain; version=0.0.4; charset=utf-8"))
expect_match(r'^calls\{name="foo"\} 7$', metrics, "metrics")
expect(get("/folder/x.json")[1:], ("{}", "application/json"))
expect(get("/prometheus?x=1")[0], 200)
expect(get("/secret")[0], 404, "what others may not read")
expect(get("/none")[0], 404)
expect(get("/metrics")[0], 404, "a script whose probes say what it serves serves nothing else")
expect(get("/prometheus", "POST")[0], 405)
expect(get("/prometheus", "HEAD")[1], "")
expect(get("/prometheus", host="attacker.example")[0], 403)
expect(get("/prometheus", host="localhost:1")[0], 200)
if shutil.which("curl"):
    done = subprocess.run(["curl", "-s", "--noproxy", "*", f"http://127.0.0.1:{port}/folder/x.json"], capture_output=True, timeout=300)
    expect(done.stdout, b"{}", "curl")

# Nonsense, and those who say nothing, harm nobody.
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
with socket.create_connection(("127.0.0.1", port), timeout=300) as rude:
    rude.sendall(b"x" * 5000)
    expect(rude.recv(100).split()[1], b"431")
expect(get("/")[0], 200)

# The port is taken; other places are refused.
spile(f"--http={port}", "-e", SCRIPT).expect(status=1, out="", err_match=r"listen at \d+: Address already in use")
session.process.send_signal(signal.SIGINT)
session.wait().expect(status=0)
for place, message in [("8.8.8.8:80", "only the loopback"), ("0.0.0.0:0", "only the loopback"), ("x", "expected .ADDRESS:.PORT"),
                       ("70000", "expected .ADDRESS:.PORT"), ("", "value of option .--http. is empty")]:
    spile(f"--http={place}", "-e", SCRIPT).expect(status=1, out="", err_match=message)
spile("--http=0", "-e", "probe begin { exit() }").expect(status=0)
