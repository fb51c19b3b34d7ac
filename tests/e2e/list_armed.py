# spile list: what is armed, in which processes, by which spile, with its hits; what a killed spile has left; hostile texts.
from spiletest import *
import calendar
import json
import socket as sockets


def rows(*words, **options):
    return [json.loads(line) for line in spile("--json", "list", *words, **options).expect(status=0).out.splitlines()]


def session_of(pid, *words):
    found = [row for row in rows(*words) if row["kind"] == "session" and row["pid"] == pid]
    return found[0] if found else None


def wait_session(pid):
    wait_until(lambda: (session_of(pid) or {}).get("answers"), 60, "the session in the list")
    return session_of(pid)


folder = temporary_directory()
target = server()
tracer = start(SPILE, "-x", target.pid, "-e",
               'probe process.function("work") { } probe timer.ms(10) { } probe begin { println("begun") }')
row = wait_session(tracer.pid)
expect((row["command"][0], row["uid"], [each["pid"] for each in row["processes"]], row["everywhere"]),
       (str(SPILE), os.geteuid(), [target.pid], False))
work = [probe for probe in row["probes"] if "work" in probe["point"]][0]
expect((work["runs_in"], work["places"], work["source"]), ("process", 1, "<input>:1:1"))
since = calendar.timegm(time.strptime(row["since"], "%Y-%m-%dT%H:%M:%SZ"))
expect_true(abs(time.time() - since) < 600, f"since when: {row['since']}")


def hits(pid, what):
    return [probe["hits"] for probe in session_of(pid)["probes"] if what in probe["point"]][0]


for what in ("work", "timer"):  # both go on
    before = hits(tracer.pid, what)
    wait_until(lambda: hits(tracer.pid, what) > before, 60, f"more hits of {what}")

# As text: by number and by name; of another process nothing; what is not there is an error.
text = spile("list", target.pid).expect(status=0).out
expect_match(rf"^spile {tracer.pid} of user \S+, armed since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \(.*\)$", text)
expect_match(rf"^  in process {target.pid} \(server\)$", text)
# The point of a program in a deep folder is cut off.
expect_match(r'^ +\d+  process  process\("[^"]+(/server"\)\.function\("work\S*"\)|\.\.\.)  <input>:1:1$', text)
expect(session_of(tracer.pid, str(os.getpid())), None, "in a process that is not probed")
expect_true(session_of(tracer.pid, "server") is not None, "the target by its name")
spile("list", 999999999).expect(status=1, out="", err_match="no process has the ID 999999999")
spile("list", "no such program").expect(status=1, out="", err_match="no process is called 'no such program'")
spile("list", "-c", "true").expect(status=1, err_match="spile list has no option -c")

# Exact: as many hits as calls, of processes that have ended, too.
done = start(SPILE, "-e", f'probe process("{program("calls")}").function("foo") {{ }}', "-c",
             f"sh -c '{program('calls')} 1234; {program('calls')} 766; sleep 600'")
wait_session(done.pid)
wait_until(lambda: hits(done.pid, "foo") >= 2000, 60, "2000 hits", lambda: str(session_of(done.pid)))
expect(hits(done.pid, "foo"), 2000, "hits of two programs with 2000 calls")
for child in children(done.pid):
    os.kill(child, signal.SIGTERM)
done.send_signal(signal.SIGINT)
done.wait(60 * PATIENCE)

# Another user sees nothing of it, and is told who probes his process; root's list has all.
if os.geteuid() == 0:
    expect(rows(user="nobody"), [], "what nobody may see")
    spile("list", target.pid, user="nobody").expect(status=1, err_match="can't be looked at: it belongs to user root")
    theirs = server(user="nobody")
    over_theirs = start(SPILE, "-x", theirs.pid, "-e", 'probe process.function("work") { }')
    wait_session(over_theirs.pid)
    told = [row for row in rows(str(theirs.pid), user="nobody")]
    expect([(row["kind"], row["pid"], row["tracer"], row["tracer_uid"]) for row in told],
           [("traced", theirs.pid, over_theirs.pid, 0)])
    over_theirs.send_signal(signal.SIGINT)
    over_theirs.wait(60 * PATIENCE)
    finish(theirs)

# A session that stands still does not answer, which is said; it is not asked for longer than a second.
os.kill(tracer.pid, signal.SIGSTOP)
wait_state(tracer.pid, "T")
row = session_of(tracer.pid)
expect((row["answers"], row["why"], [each["pid"] for each in row["processes"]]), (False, "it is stopped", [target.pid]))
expect_match("what it has armed is not known: it is stopped", spile("list", target.pid).expect(status=0).out)

# Killed: it is gone from the list, and what it has left in the target is named until the next spile removes it. The target's
# death removes it, too.
os.kill(tracer.pid, signal.SIGKILL)
tracer.wait(60 * PATIENCE)
# (Other tests' spiles may have left something in the kernel.)
here = [row for row in rows(str(target.pid)) if row["kind"] != "left_in_kernel"]
expect([(row["kind"], row["pid"], row["name"]) for row in here], [("left", target.pid, "server")])
expect_match(rf"^process {target.pid} \(server\): handlers of a spile that was killed",
             spile("list", target.pid).expect(status=0).out)
again = start(SPILE, "-x", target.pid, "-e", 'probe process.function("work") { }')
wait_session(again.pid)
expect([row["kind"] for row in rows(str(target.pid))], ["session"])
again.send_signal(signal.SIGINT)
again.wait(60 * PATIENCE)
spile("list", target.pid).expect(status=0, out=f"nothing is armed in process {target.pid}\n")
once_more = start(SPILE, "-x", target.pid, "-e", 'probe process.function("work") { }')
wait_session(once_more.pid)
os.kill(target.pid, signal.SIGKILL)
once_more.wait(60 * PATIENCE)
expect([row for row in rows() if row.get("pid") in (target.pid, once_more.pid)], [], "after the target's death")


# Any process may listen at such a name, say anything, nothing, or without end. Its number and user are the kernel's; what it says
# is escaped and bounded.
def pretend(answer):
    code = """
import socket, sys, os
s = socket.socket(socket.AF_UNIX); s.bind("\\0spile-session-1-00"); s.listen(1); print("ready", flush=True)
answer = open(sys.argv[1], "rb").read() if sys.argv[1] else None
while True:
    c, _ = s.accept()
    try:
        while answer is None: c.sendall(b"x" * 65536)
        c.sendall(answer)
        if not answer: sys.stdin.read()
    except OSError: pass
    c.close()
"""
    if answer is not None:
        (folder / "answer").write_text(answer)
    return start(sys.executable, "-c", code, "" if answer is None else folder / "answer", ready="ready", stdin=subprocess.PIPE)


HOSTILE = json.dumps({"since": 1 << 62, "processes": [1, -4, "x", 1 << 40, 99999999],
                      "probes": [{"point": "\x1b]0;t\x07\n" * 40, "places": "x", "hits": -1}] * 3000,
                      "everywhere": 1, "skipped": 1.5})
for answer in (HOSTILE, "[" * 100000, '{"probes": {}, "processes": 3}', "", None):
    fake = pretend(answer)
    listed = spile("list").expect(status=0, out_match=rf"^spile {fake.pid} of user ").out
    expect_true(not re.search(r"[\x00-\x08\x0b-\x1f]", listed), f"control characters in {listed[:300]!r}")
    expect_true(len(listed) < 500000, f"{len(listed)} bytes for one process")
    row = session_of(fake.pid)
    if answer == HOSTILE:
        expect((row["answers"], len(row["probes"]), row["skipped"], row["everywhere"]), (True, 1000, 0, False))
    elif answer != '{"probes": {}, "processes": 3}':
        expect(row["answers"], False, f"an answer of {str(answer)[:20]}")
    fake.kill()
    fake.wait()
# A connection that is not read does not stop a session, nor do a hundred.
idle_target = server()
tracer = start(SPILE, "-x", idle_target.pid, "-e", 'probe process.function("work") { }')
wait_session(tracer.pid)
name = [line.split("@")[1].strip() for line in open("/proc/net/unix") if f"@spile-session-{tracer.pid}-" in line][0]
idle = []
for _ in range(100):
    connection = sockets.socket(sockets.AF_UNIX)
    connection.setblocking(False)
    try:
        connection.connect("\0" + name)
    except BlockingIOError:
        pass
    idle.append(connection)
expect_true(session_of(tracer.pid) is not None, "the session among idle connections")
before = hits(tracer.pid, "work")
wait_until(lambda: hits(tracer.pid, "work") > before, 60, "hits among idle connections")
tracer.send_signal(signal.SIGINT)
expect(tracer.wait(60 * PATIENCE), 0, "the session's status")
finish(idle_target)
