# Several spiles probe one function of one program at once: they come and go in any order, each counts its calls exactly, and
# the last one leaves the program as it was.
# variants: orders exceptions killed left lives stacks campaign
# long
import itertools
from spiletest import *

COUNT = 'global c probe process.function("pingCommand") {{ c++ }} probe end {{ printf("{} %d\\n", c) }}'


class Counter:
    """A spile that counts PINGs; armed when made."""

    def __init__(self, name, pid):
        self.name, self.pings = name, 0
        self.session = Session("-v", "-e", COUNT.format(name), "-x", pid).attached(pid, 60)

    def stop(self):
        self.session.stop().expect(out=f"{self.name} {self.pings}\n", status=0)


def ping(redis, counters, times=3):
    for _ in range(times):
        expect(redis.command("ping"), "PONG", "answer")
    for counter in counters:
        counter.pings += times


def child_of(session):
    def children():
        with open(f"/proc/{session.process.pid}/task/{session.process.pid}/children") as file:
            return [int(pid) for pid in file.read().split()]
    wait_until(lambda: children() and os.readlink(f"/proc/{children()[0]}/exe").startswith(str(BUILD / "programs")), 30,
               "the command")
    return children()[0]


def orders():
    """Three, which leave in each order in which the one that traces stays to the end."""
    redis = Redis()
    for order in itertools.permutations((1, 2)):
        counters = []
        for name in "abc":
            counters.append(Counter(name, redis.pid))
            ping(redis, counters)
        living = list(counters)
        for index in order:
            counters[index].stop()
            living.remove(counters[index])
            ping(redis, living)
        counters.append(Counter("d", redis.pid))
        living.append(counters[-1])
        ping(redis, living)
        counters[-1].stop()
        living.remove(counters[-1])
        ping(redis, living)
        counters[0].stop()
        expect_untouched(redis.pid)
    expect(redis.command("ping"), "PONG", "answer")


def exceptions():
    """Guests with return probes come and go while exceptions pass through the probed frames."""
    rounds = 300_000
    script = ('global e, r probe process.function("thrower"), process.function("middle"), process.function("catcher") {{ e++ }} '
              'probe process.function("catcher").return, process.function("middle").return {{ r++ }} '
              'probe end {{ printf("{} %d %d\\n", e, r) }} ')
    owner = Session("-e", script.format("a"), "-c", f"{program('throws')} {rounds}")
    pid, guests = child_of(owner), 0
    while owner.process.poll() is None and guests < 12:
        guest = Session("-e", script.format("g") + 'probe timer.ms(5) { if (e > 100) exit() }', "-x", pid)
        guest.process.wait(60 * PATIENCE)
        if owner.process.poll() is None:
            guest.result().expect(status=0, out_match=r"^g \d+ \d+$", err="")
            guests += 1
    owner.wait().expect(status=0, out_match=f"^a {3 * rounds} {rounds + rounds // 2}$")
    expect_true(guests > 0, "a guest came")


def killed():
    """A guest that is killed is taken out, and the one that traces counts on."""
    redis = Redis()
    owner = Counter("a", redis.pid)
    for _ in range(3):
        guest = Counter("b", redis.pid)
        ping(redis, [owner])
        guest.session.process.kill()
        guest.session.process.wait()
        ping(redis, [owner])
    last = Counter("c", redis.pid)
    ping(redis, [owner, last])
    last.stop()
    ping(redis, [owner])
    owner.stop()
    expect_untouched(redis.pid)


def left():
    """The one that traces ends first, or is killed: the others go on by themselves, and say so."""
    redis = Redis()
    for kill in (False, True):
        owner, guests = Counter("a", redis.pid), []
        for name in "bc":
            guests.append(Counter(name, redis.pid))
        ping(redis, [owner] + guests)
        if kill:
            owner.session.process.kill()
            owner.session.process.wait()
        else:
            owner.stop()
        for guest in guests:
            wait_until(lambda: "has ended; hits may have been missed" in guest.session.read(guest.session.err), 60,
                       "the guest to go on",
                       lambda: guest.session.read(guest.session.err))
        ping(redis, guests)
        for guest in guests:
            guest.stop()
        wait_until(lambda: not foreign_mappings(redis.pid), 30, "no mappings")
        expect_untouched(redis.pid)
    expect(redis.command("ping"), "PONG", "answer")


def lives():
    """Those that come later see processes and threads begin and end, and take samples, as the first one does; system calls they can't see."""
    shell = start("sh", stdin=subprocess.PIPE)
    script = """global begins, ends, bad, live
    probe process.begin { if (begins++ == 0) println("seen") live[pid()]++ if (pid() != tid()) bad++ }
    probe process.end { ends++ if (--live[pid()] != 0 || pid() != tid()) bad++ }
    probe end { printf("%d %d %d\\n", begins, ends, bad) }"""
    sessions = [Session("-e", script, "-x", shell.pid).wait_output("^seen$") for _ in range(3)]
    shell.communicate(b"cat /dev/null; /bin/true\n" * 10 + b"exit 0\n", timeout=300)
    for session in sessions:
        session.wait().expect(out="seen\n41 41 0\n", status=0, err="")

    target = server(seconds=120, threads=3)
    first = Session("-v", "-e", 'global c probe process.function("work") { c++ }', "-x", target.pid).attached(target.pid)
    spile("-e", "probe process.syscall { exit() }", "-x", target.pid).expect(
        status=1, out="",
        err_match=rf"attach {target.pid}: another spile \(process {first.process.pid}\) traces it.*\n.*leave out process.syscall")
    second = Session("--runtime=inproc", "-e", """global begins, ends, samples probe process.thread.begin { begins++ }
    probe process.thread.end { ends++ }
    probe timer.profile { if (samples++ == 3) println("sampled") } probe process.end { printf("%d %d\\n", begins, ends) }""",
                     "-x", target.pid)
    second.wait_output("^sampled$", 60)
    finish(target)
    second.wait().expect(out_match="^3 3$", status=0, err="")
    first.wait().expect(out_match=r"^c=\d+$", status=0)


def stacks():
    """Backtraces through frames whose returns another spile waits for, or both do, are what they are without."""
    path = program("stacks")
    functions = ["plain", "sized", "sorted", "compare", "deep", "raised", "on_signal", "never", "leaf"]
    returns = "global n probe " + ", ".join(f'process("{path}").function("{f}").return' for f in functions) + ' { n++ } '
    walks = f'probe process("{path}").function("leaf") {{ println("leaf") print_ubacktrace() }} '
    told = 'global told probe process.begin { if (!told++) println("seen") } probe end { printf("ended %d\\n", told) } '

    def names(out):
        return re.findall(r"^ *0x[0-9a-f]+ : (\S+?)\+0x|^(leaf)$", out, re.M)

    alone = names(spile("-e", walks, "-c", path).expect(status=0).out)
    expect_true(len(alone) > 60, f"stacks: {alone}")
    for first, second in [(returns, walks), (walks, returns), (returns + walks, returns + walks)]:
        shell = start("sh", stdin=subprocess.PIPE)
        sessions = [Session("-e", told + script, "-x", shell.pid).wait_output("^seen$") for script in (first, second)]
        shell.communicate(f"'{path}'; exit\n".encode(), timeout=300)
        for session, script in zip(sessions, (first, second)):
            # The shell has none of the script's places; its child has, perhaps before that is a warning's worth.
            result = session.wait().expect(status=0)
            expect_true(result.err in ("", f"WARNING: process {shell.pid} has not loaded {path}, which the script probes; "
                                           f"hits are counted once that is loaded\n"), result)
            if walks in script:
                expect(names(result.out), alone, f"stacks\n{result}")
            if returns in script:
                expect_match("^n=46$", result.out, "46 returns")


def campaign():
    """All of that at random, under calls with numbers, by which a missed one is noticed; tools/torture/several_spiles.py does it 50 times."""
    sys.path.insert(0, str(ROOT / "tools/torture"))
    import several_spiles
    several_spiles.campaign(2, seed=1)


{"orders": orders, "exceptions": exceptions, "killed": killed, "left": left, "lives": lives, "stacks": stacks,
 "campaign": campaign}[VARIANT]()
