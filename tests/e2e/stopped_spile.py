# Ctrl-Z: spile lets the process go before it stands still, so the process forks, makes threads and gets signals; when spile goes
# on, so do the counts, and Ctrl-C leaves the process as it was.
# variants: command attached guest
from spiletest import *
import pty

SCRIPT = 'global c probe process.function("step") { c++ } probe timer.ms(50) { printf("c %d\\n", c) } probe end { println("end") }'


def counts(session):
    return [int(n) for n in re.findall(r"^c (\d+)", session.read(session.out), re.M)]


def wait_count(session, more):
    wait_until(lambda: counts(session) and counts(session)[-1] >= more, 30, f"{more} hits", lambda: session.read(session.err))


def stop_and_go_on(session, pid, rounds):
    wait_count(session, 300)
    session.process.send_signal(signal.SIGTSTP)
    wait_state(session.process.pid, "T")
    expect_untouched(pid)
    before, hits = rounds(), counts(session)[-1]
    wait_until(lambda: rounds() > before + 10, 30, "rounds while spile is stopped")
    session.process.send_signal(signal.SIGCONT)
    session.wait_message("spile was stopped")
    wait_count(session, hits + 300)


if VARIANT == "command":
    # With a terminal, whose Ctrl-Z stops both: only SIGCONT makes either go on.
    shell, terminal = pty.fork()
    if shell == 0:
        os.execv("/bin/sh", ["sh", "-c", 'set -m; "$@" & jobs=$!; wait $jobs; echo "status $?"; read line; fg; echo "status $?"', "sh",
                             str(SPILE), "-e", SCRIPT, "-c", command_line(program("lively") + " 3")])
    said = b""

    def read_until(pattern, seconds=40):
        global said
        end = time.monotonic() + seconds
        while not re.search(pattern, said):
            expect_true(time.monotonic() < end, f"{pattern} in {said.decode(errors='replace')}")
            try:
                said += os.read(terminal, 4096)
            except OSError:
                break
        expect_true(re.search(pattern, said), f"{pattern} in {said.decode(errors='replace')}")

    read_until(rb"c [1-9]\d\d")
    tracer = children(shell)[0]
    target = children(tracer)[0]
    os.killpg(os.getpgid(tracer), signal.SIGTSTP)
    wait_until(lambda: state(tracer) == "T" and state(target) == "T", 30, "both to stop")
    expect_untouched(target)
    read_until(rb"status 148")  # 128 + SIGTSTP
    os.write(terminal, b"\n")
    read_until(rb"spile was stopped")
    read_until(rb"bad 0 signals 1[^$]*end[^$]*status 0")
    os.close(terminal)
    sys.exit(0)

log = temporary_directory() / "rounds"
target = subprocess.Popen([program("lively"), "60"], stdout=open(log, "w"))
rounds = lambda: log.read_text().count("round")
session = Session("-e", SCRIPT, "-x", target.pid, own_group=True).attached(target.pid)
if VARIANT == "guest":
    host = session
    session = Session("-e", SCRIPT, "-x", target.pid, own_group=True)
    wait_count(session, 300)
    stopped = session.process
    stopped.send_signal(signal.SIGTSTP)
    wait_state(stopped.pid, "T")
    hits = counts(host)[-1]
    wait_count(host, hits + 500)
    stopped.send_signal(signal.SIGCONT)
    wait_count(session, counts(session)[-1] + 300)
    host.stop().expect(status=0)
    wait_count(session, counts(session)[-1] + 300)
else:
    for _ in range(2):
        stop_and_go_on(session, target.pid, rounds)
session.stop().expect(status=0, out_match="end")
expect_untouched(target.pid)
target.terminate()
expect(target.wait(30 * PATIENCE), 0, "its status")
expect_match("^bad 0 signals 1$", log.read_text())
