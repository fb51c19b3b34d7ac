# timing
# --http answers though others connect and say nothing, read nothing or never come to an end: newcomers take their places.
import http.client
import resource
from spiletest import *

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
SCRIPT = r"""
probe procfs("small").read { $value = "s" }
probe procfs("large").read { for (i = 0; i < 4000; i++) $value = $value . "0123456789012345678901234567890123456789012345678901234567890123456789" }
"""
session = Session("-v", "--http=0", "-DMAXACTION=100000", "-e", SCRIPT)
session.wait_message("files are at")
port = int(re.search(r"procfs files are at http://127\.0\.0\.1:(\d+)/", session.read(session.err))[1])


def connect():
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def answers(what):
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/small")
    expect(connection.getresponse().read(), b"s", what)
    # Less than the 5 s after which spile drops who says nothing.
    expect_true(time.monotonic() - begin < 3, f"{what}: took {time.monotonic() - begin:.1f} s")


idle = [connect() for _ in range(600)]
for _ in range(5):
    answers("beside 600 who say nothing")
slow = [connect() for _ in range(200)]
for each in slow:
    each.sendall(b"GET /small HTTP/1.0\r\nX: ")
answers("beside 200 who do not finish")
unread = [connect() for _ in range(20)]
for each in unread:
    each.sendall(b"GET /large HTTP/1.0\r\n\r\n")
answers("beside 20 who do not read")

# Slow clients are dropped in the end, and their descriptors are closed.
last = connect()
last.settimeout(60)
expect(last.recv(10), b"", "a connection that said nothing until spile closed it")
answers("later")
wait_until(lambda: len(os.listdir(f"/proc/{session.process.pid}/fd")) < 40, 20, "closed connections")
expect(session.stop().status, 0, "status")
