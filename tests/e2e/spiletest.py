"""What the end-to-end tests are written with: run spile, start programs to probe, expect exact results.

A test is a script of some twenty lines that says what is true when it ends with status 0; `skip()` ends it with 77.
Everything that a test starts is its own: ports are free ones, directories are temporary, and whatever still runs
when the test ends is killed by process number.
"""
import atexit
import contextlib
import difflib
import os
import pathlib
import pwd
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SPILE_BUILD", ROOT / "build/release"))
SPILE = pathlib.Path(os.environ.get("SPILE", BUILD / "bin/spile"))
VARIANT = sys.argv[1] if len(sys.argv) > 1 else ""
PATIENCE = 5  # times what an idle machine may need: time-outs end what hangs, and never a test whose machine is busy
LONG_FORM = os.environ.get("SPILE_TEST_ALL") == "yes"  # ./dev test --all: campaigns go on for as long as they are meant to

_started = []
_expected = 0  # how many expectations were met
_ended = False  # by skip() or fail()


# ---- saying what is expected -------------------------------------------------------------------------------------

def _met():
    global _expected
    _expected += 1


def _end_with(status):
    global _ended
    _ended = True
    sys.exit(status)


@atexit.register
def _expect_something():
    """A test that comes to its end without any expectation can't fail, so it does. (Runs last of all that is registered.)"""
    raised = hasattr(sys, "last_value")
    if _expected == 0 and not _ended and not raised and pathlib.Path(sys.argv[0]).resolve().parent == ROOT / "tests/e2e":
        print("FAIL: the test has ended without an expectation", flush=True)
        os._exit(1)


def skip(reason):
    print(f"skip: {reason}")
    _end_with(77)


def fail(message):
    print(f"FAIL: {message}")
    _end_with(1)


def expect(actual, wanted, what="value"):
    if actual == wanted:
        return _met()
    if isinstance(actual, str) and isinstance(wanted, str):
        sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), actual.splitlines(True), "wanted", "got"))
        fail(f"{what}: wanted {wanted[:200]!r}, got {actual[:200]!r}")
    fail(f"{what}: wanted {wanted!r}, got {actual!r}")


def expect_match(pattern, text, what="text"):
    if not re.search(pattern, text, re.M):
        fail(f"{what} does not match {pattern!r}:\n{text}")
    _met()


def expect_true(condition, what):
    if not condition:
        fail(what)
    _met()


# ---- running spile -----------------------------------------------------------------------------------------------

class Result:
    def __init__(self, arguments, status, out, err):
        self.arguments, self.status, self.out = arguments, status, out
        # How often a timer could run is a matter of the machine's load.
        self.err = re.sub(r"^WARNING: timer\.\S+ ran \d+ times?, and missed \d+: .*\n", "", err, flags=re.M)

    def __str__(self):
        return (f"$ spile {' '.join(map(repr, self.arguments))}\n[status {self.status}]\n"
                f"--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}")

    def expect(self, out=None, status=0, out_match=None, err_match=None, err=None):
        """Everything given must hold; what is shown on failure is the whole run."""
        for good, what in [(out is None or self.out == out, f"output is not {out!r}"),
                           (self.status == status, f"status is not {status}"),
                           (out_match is None or re.search(out_match, self.out, re.M), f"output lacks {out_match!r}"),
                           (err_match is None or re.search(err_match, self.err, re.M), f"stderr lacks {err_match!r}"),
                           (err is None or self.err == err, f"stderr is not {err!r}")]:
            if not good:
                fail(f"{what}\n{self}")
        _met()
        return self

    def numbers(self):
        return [int(n) for n in re.findall(r"-?\d+", self.out)]


def processor_seconds():
    """What the processes that have ended took of processors: a bound on a difference holds on a busy machine, too."""
    now = os.times()
    return now.children_user + now.children_system


def command_line(text):
    """A command line, for -c or a shell, that names files of this tree: blanks in the tree's path get a backslash, which holds
    within the '...' of an inner shell, too. A line whose paths are quoted already stays as it is."""
    text = str(text)
    places = [place for place in (str(ROOT), str(BUILD)) if " " in place]
    if not any(place in text for place in places):
        return text
    with contextlib.suppress(ValueError):  # of a quote that is not closed
        words = shlex.split(text)
        if any(" " in word and os.path.exists(word) and before != "-c" for before, word in zip(["", *words], words)):
            return text
    for place in places:
        text = text.replace(place, place.replace(" ", "\\ "))
    return text


def spile_words(arguments):
    """The words of a command that starts spile, as strings."""
    words = list(map(str, arguments))
    return [str(SPILE), *(command_line(word) if before == "-c" else word for before, word in zip(["", *words], words))]


def _command(arguments, user):
    command = spile_words(arguments)
    if user is None:
        return command, None
    if os.geteuid() != 0:
        skip("needs root to become another user")
    entry = pwd.getpwnam(user)
    return (["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", *command],
            {**os.environ, "HOME": "/nonexistent", "XDG_CACHE_HOME": str(temporary_directory(user))})


def spile(*arguments, user=None, timeout=120, input=None, cwd=None, variables=None):
    """Runs spile to its end. variables: more of the environment."""
    command, environment = _command(arguments, user)
    if variables:
        environment = {**(environment or os.environ), **variables}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=cwd,
                               stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL)
    _started.append(process)
    try:
        out, err = process.communicate(input.encode() if input is not None else None, timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        fail(f"spile did not end within {timeout * PATIENCE} s\n$ spile {arguments}\n--- stdout\n{out.decode(errors='replace')}"
             f"\n--- stderr\n{err.decode(errors='replace')}")
    return Result(arguments, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def compiled(*arguments):
    """Returns the arguments. -T limits the compilation, too, for which a busy machine may need longer: it is done before."""
    words = [str(word) for word in arguments]
    for option in ("-T", "-o"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    spile("-p4", *words).expect(status=0)
    return arguments


class Session:
    """spile running in the background; attached when attached() returns, and with -v all is armed then."""

    def __init__(self, *arguments, user=None, own_group=False):
        # own_group: as a shell starts a job. In a group of which no parent is in the session, Ctrl-Z stops nobody (signal(7)).
        self.arguments = arguments
        command, environment = _command(arguments, user)
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.err, env=environment,
                                        stdin=subprocess.DEVNULL, process_group=0 if own_group else None)
        _started.append(self.process)

    def attached(self, pid, timeout=60):
        # Sites come in portions, the dynamic linker's perhaps before all others.
        before, same = None, 0

        def armed():
            nonlocal before, same
            if "-v" in self.arguments:
                return re.search(r"^Armed \d+ of", self.read(self.err), re.M)
            changes = changed_text(pid)
            same = same + 1 if changes == before else 1
            before = changes
            only_linker = all("/ld-" in path for path, _, _ in changes)
            return changes and same >= (25 if only_linker else 4)

        wait_until(lambda: self.process.poll() is not None or armed(), timeout, f"spile to arm in {pid}",
                   lambda: self.read(self.err))
        if self.process.poll() is not None:
            fail(f"spile ended instead of attaching\n{self.result()}")
        return self

    def read(self, file):
        # Without moving the offset, at which spile writes: both have the same open file.
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")

    def wait_output(self, pattern, timeout=60):
        """Returns when spile, or the command of -c, has printed a line that matches; it is a failure if spile ends before."""
        return self._wait_text(self.out, pattern, timeout)

    def wait_message(self, pattern, timeout=60):
        """The same for standard error: what spile says with -v, and its warnings."""
        return self._wait_text(self.err, pattern, timeout)

    def _wait_text(self, file, pattern, timeout):
        def found():
            return re.search(pattern, self.read(file), re.M)

        wait_until(lambda: self.process.poll() is not None or found(), timeout, f"{pattern!r} to be printed",
                   lambda: str(self.result()))
        if not found():
            fail(f"spile ended without printing {pattern!r}\n{self.result()}")
        return self

    def stop(self, how=signal.SIGINT, timeout=30):
        """Ctrl-C, as a person would end it; returns the Result."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.wait(timeout)

    def wait(self, timeout=60):
        try:
            self.process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            fail(f"spile still runs\n--- stdout\n{self.read(self.out)}\n--- stderr\n{self.read(self.err)}")
        return self.result()

    def result(self):
        return Result(self.arguments, self.process.returncode, self.read(self.out), self.read(self.err))


# ---- programs to probe -------------------------------------------------------------------------------------------

def program(name):
    path = BUILD / "programs" / name
    if not path.exists():
        skip(f"{name} was not built (its compiler is not installed)")
    return str(path)


def debian_source_program(name):
    """redis-server or sqlite3, built with -g from Debian's sources by tests/programs/from_debian_sources."""
    directory = ROOT / "build/programs"
    if not (directory / name).exists():
        reason = directory / "unavailable"
        skip(reason.read_text().strip() if reason.exists() else f"{directory / name} was not built (./dev test does)")
    return str(directory / name)


def installed(name, *places):
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *places]))
    return path or skip(f"{name} is not installed")


def start(*command, user=None, ready=None, **options):
    """Starts a program; with `ready`, returns once its output has a line that matches."""
    if str(command[0]) == str(SPILE):
        command = spile_words(command[1:])
    if user is not None and os.geteuid() == 0:
        entry = pwd.getpwnam(user)
        command = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", *command]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    _started.append(process)
    if ready is not None:
        line = b""
        while not re.search(ready, line.decode(errors="replace")):
            line = process.stdout.readline()
            if not line:
                fail(f"{command[0]} ended before it was ready")
    return process


def server(seconds=60, threads=1, **options):
    """tests/programs/server.c, calling work() all the time."""
    return start(program("server"), seconds, threads, ready="ready", **options)


def finish(process, timeout=60):
    """Ends a program started by start() with SIGTERM and returns what it had left to say."""
    if process.poll() is None:
        process.terminate()
    out, _ = process.communicate(timeout=timeout * PATIENCE)
    return out.decode(errors="replace")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def temporary_directory(owner=None):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="spile-test-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    if owner is not None and os.geteuid() == 0:
        os.chown(directory, pwd.getpwnam(owner).pw_uid, -1)
    return directory


def wait_until(condition, timeout, what, details=lambda: ""):
    """Returns when the condition holds. The timeout only ends a test that hangs."""
    timeout *= PATIENCE
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            fail(f"waited {timeout} s for {what}\n{details()}")
        time.sleep(0.02)


# ---- looking at a process from outside ---------------------------------------------------------------------------

def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state(pid):
    """The letter of proc(5): R, S, D, T (stopped), t (stopped by its tracer), Z."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def wait_state(pid, letters, timeout=60):
    wait_until(lambda: state(pid) in letters, timeout, f"state {letters} of process {pid}", lambda: f"its state is {state(pid)}")


def turns(pid):
    """How often the threads of a process have gone to sleep by themselves, all together."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1])
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that has ended
    return total


def wait_turns(pid, more=100, timeout=60):
    """Returns when a program that calls what is probed in a loop, and sleeps now and then, has gone on: so its probes were hit.
    The stops of a tracer that attaches or arms count as well; `more` has to be above their number."""
    before = turns(pid)
    wait_until(lambda: turns(pid) >= before + more, timeout, f"process {pid} to go on",
               lambda: f"{turns(pid) - before} turns of {more}")


def executable_mappings(pid):
    """(start, end, offset, path) of every executable mapping of a file."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if "x" in fields[1] and len(fields) == 6 and fields[5].startswith("/") and "memfd" not in fields[5]:
            low, high = (int(part, 16) for part in fields[0].split("-"))
            yield low, high, int(fields[2], 16), fields[5]


def changed_text(pid):
    """Mappings whose text differs from the files on disk: path, address of the first difference, a hash of it all."""
    changes = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for low, high, offset, path in executable_mappings(pid):
            memory.seek(low)
            live = memory.read(high - low)
            with open(f"/proc/{pid}/root{path}", "rb") as file:
                file.seek(offset)
                disk = file.read(high - low)
            if live[:len(disk)] != disk:
                first = next(i for i in range(len(disk)) if live[i] != disk[i])
                changes.append((path, hex(low + first), hash(live)))
    return changes


def foreign_mappings(pid):
    """Mappings that spile made: its shared memory, and executable memory that belongs to no file."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        name = fields[5] if len(fields) == 6 else ""
        if "memfd:spile" in name or "x" in fields[1] and not name:
            found.append(line)
    return found


def expect_untouched(pid):
    expect(changed_text(pid), [], "text that differs from the file on disk")
    expect(foreign_mappings(pid), [], "mappings left behind")
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    expect_match(r"TracerPid:\s+0$", status, "the process's status")


# ---- servers -----------------------------------------------------------------------------------------------------

class Redis:
    def __init__(self, binary=None):
        self.port = free_port()
        directory = temporary_directory("nobody")
        self.process = start(binary or installed("redis-server"), "--port", self.port, "--bind", "127.0.0.1",
                             "--save", "", "--appendonly", "no", "--dir", directory, ready="Ready to accept",
                             user="nobody", cwd=str(directory))
        self.pid = self.process.pid

    def command(self, *words):
        out = subprocess.run([installed("redis-cli"), "-p", str(self.port), *map(str, words)], capture_output=True,
                             timeout=30)
        return out.stdout.decode().strip()

    def commands(self, lines):
        """What one client says that sends all of them."""
        return subprocess.run([installed("redis-cli"), "-p", str(self.port)], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, timeout=120).stdout

    def wait_commands(self, more=2000, timeout=60):
        """Returns when it has served so many more commands, of whichever client."""
        def served():
            return int(re.search(r"total_commands_processed:(\d+)", self.command("INFO", "stats"))[1])

        before = served()
        wait_until(lambda: served() >= before + more, timeout, f"{more} commands to be served")

    def benchmark(self, *options):
        """redis-benchmark in the background; finish with .wait()."""
        process = subprocess.Popen([installed("redis-benchmark"), "-p", str(self.port), "-q", *map(str, options)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _started.append(process)
        return process


class Postgres:
    def __init__(self):
        tools = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not tools:
            skip("postgresql is not installed")
        self.tools = tools[-1]
        self.port = free_port()
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.directory = temporary_directory(self.user)
        self.data = self.directory / "data"
        self._run("initdb", "-D", self.data, "-A", "trust", "--no-sync")
        self.process = start(self.tools / "postgres", "-D", self.data, "-p", self.port, "-k", self.directory,
                             "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off",
                             user=self.user, ready="ready to accept", cwd=str(self.directory))
        self.pid = self.process.pid

    def _run(self, tool, *arguments):
        command = [self.tools / tool, *arguments]
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.user)
            command = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", *command]
        done = subprocess.run([str(c) for c in command], capture_output=True, cwd=self.directory, timeout=120)
        if done.returncode:
            fail(f"{tool}: {done.stderr.decode()}")
        return done.stdout.decode()

    def pgbench(self, *options):
        return self._run("pgbench", "-h", self.directory, "-p", str(self.port), *options, "postgres")

    def start_pgbench(self, *options):
        return start(self.tools / "pgbench", "-h", self.directory, "-p", self.port, *options, "postgres",
                     user=self.user, cwd=str(self.directory))

    def sql(self, text):
        return self._run("psql", "-h", self.directory, "-p", str(self.port), "-Atc", text, "postgres").strip()

    def backends(self):
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.pid)], capture_output=True).stdout
        return [int(line.split()[0]) for line in children.decode().splitlines() if "127.0.0.1" in line
                or "[local]" in line]


class Nginx:
    def __init__(self):
        binary, self.port, directory = installed("nginx"), free_port(), temporary_directory()
        (directory / "index.html").write_text("hello\n")
        (directory / "conf").write_text(f"""daemon off; pid {directory}/pid; worker_processes 1; error_log {directory}/log;
{"user root;" if os.geteuid() == 0 else ""} events {{ }} http {{ access_log off; client_body_temp_path {directory}/b;
proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
server {{ listen 127.0.0.1:{self.port}; root {directory}; }} }}""")
        master = start(binary, "-e", directory / "log", "-c", directory / "conf")
        def children():
            return pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children").read_text().split()
        wait_until(children, 10, "nginx's worker")
        self.worker = int(children()[0])
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, 10, "nginx to listen")

    def get(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/index.html", timeout=10).read()


def watchpoints_work():
    """Whether the processor raises hardware watchpoints; those of some virtual machines never come, and spile says so."""
    source = temporary_directory() / "watched"
    source.with_suffix(".c").write_text("int watched; int main(void) { watched = 1; return 0; }")
    subprocess.run(["gcc", "-g", "-o", source, source.with_suffix(".c")], check=True)
    result = spile("-e", 'probe process.data("watched").write { println("written") }', "-c", source)
    if "watchpoints do not work on this machine" in result.err:
        expect(result.status, 1)
        return False
    result.expect(status=0, out="written\n")
    return True


def number_of_started():
    return len(_started)


def end_started(since=0):
    """Ends what was started by this test, or what came after so many."""
    for process in reversed(_started[since:]):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


atexit.register(end_started)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def chosen_seed(seed):
    """The seed given, or another one each time; printed, so that a failure can be repeated."""
    seed = random.SystemRandom().randrange(1 << 24) if seed is None else seed
    print(f"seed {seed}", flush=True)
    return seed
