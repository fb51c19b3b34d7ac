# --http answers though others connect and say nothing, read nothing or never come to an end: newcomers take their places.
import http.client
import resource
import select
from spiletest import *

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
SCRIPT = r"""
probe procfs("small").read { $value = "s" }
probe procfs("large").read { x = "0123456789abcdef" for (i = 0; i < 10; i++) x = x . x $value = x }
"""
session = Session("-v", "--http=0", "-DMAXSTRINGLEN=16384", "-e", SCRIPT)
session.wait_message("files are at")
port = int(re.search(r"procfs files are at http://127\.0\.0\.1:(\d+)/", session.read(session.err))[1])


def connect():
    return socket.create_connection(("127.0.0.1", port), timeout=300)


def is_open(connection):
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return not poll.poll(0)


def answers(what):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/small")
    expect(connection.getresponse().read(), b"s", what)


def answers_beside(what, count, request=b""):
    """Newcomers are answered before the others are dropped, 5 s after they have come: some of those are still there then."""
    for _ in range(5):  # this process may have to wait for a processor for 5 s
        others = [connect() for _ in range(count)]
        for each in others:
            each.sendall(request)
        for _ in range(5):
            answers(what)
        if any(map(is_open, others)):
            return others
    fail(f"{what}: no newcomer was answered before the others were dropped")


kept = [answers_beside("beside 600 who say nothing", 600),
        answers_beside("beside 200 who do not finish", 200, b"GET /small HTTP/1.0\r\nX: ")]
unread = [connect() for _ in range(20)]
for each in unread:
    each.sendall(b"GET /large HTTP/1.0\r\n\r\n")
answers("beside 20 who do not read")

# Slow clients are dropped in the end, and their descriptors are closed.
last = connect()
last.settimeout(60)
expect(last.recv(10), b"", "a connection that said nothing until spile closed it")
answers("later")
wait_until(lambda: len(os.listdir(f"/proc/{session.process.pid}/fd")) < 40, 60, "closed connections")
expect(session.stop().status, 0, "status")
