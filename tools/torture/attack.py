#!/usr/bin/env python3
"""A program that attacks the spile which traces it, round after round, with scripts of all features (tools/torture/README.md).

    tools/torture/attack.py [--minutes M | --rounds N] [--seed S] [--spile PROGRAM] [--script NAME,NAME] [--actions A,B] [--spiles
    N]

A round: attacker.cpp runs as uid 65534, one spile or several trace it as root. Nothing that the program does may make spile
crash, hang, take memory without end, write a file or start a process that its script did not ask for. Each round has a seed of
its own, which is printed when it fails: `--rounds 1 --seed S` with the same other options does it again (as far as threads
allow).

With a spile built by the preset asan, reports of AddressSanitizer and UndefinedBehaviorSanitizer are failures, too.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534

WORK = 'process.function("work")'
# Name: script, options of spile; {base} is a file of the round's folder that belongs to root.
SCRIPTS = {
    "count": ('global c probe %s { c++ } probe timer.ms(20) { if (c < 0) println(c) } probe end { println(c) }' % WORK, []),
    "timers": ('global n, seen probe %s { n[tid(), $number & 63]++ seen[execname()] = pid() } probe timer.ms(7) { foreach ([t, '
               'x] in n- limit 5) printf("%%d %%d %%d\\n", t, x, n[t, x]) delete n } probe timer.ms(11) { foreach (s+ in seen) '
               'foreach ([t, x+] in n) if (x == seen[s]) println(s) } probe timer.ms(31) { delete seen }' % WORK, []),
    "nested": ('global a[500], b[500] probe %s { a[$number & 255, 1] <<< $number; b[$number & 255] = $number } '
               'probe timer.ms(9) { foreach ([x, y] in a- limit 20) foreach (z- in b limit 20) foreach ([u, v] in a limit 3) { '
               'if (@count(a[x, y]) + b[z] + @sum(a[u, v]) == 12345) println("x") } } probe timer.ms(50) { delete a; '
               'delete b }' % WORK, []),
    "strings": ('global s, t, e probe %s { m = user_string_n2($text, 60, "bad") s = m . sprintf("%%d %%s %%p", $number, m, '
                '$item) t[substr(m, 0, 9)] = s if (m =~ "(a|p).*n") e = matched(0) } probe timer.ms(5) { printf("%%s %%s\\n", s, '
                'e) foreach (k in t) { x = t[k] . k; s = str_replace(x, "a", "bb") . sprintf("%%-20s|%%5d", tokenize(x, " "), '
                'strlen(x)) if (s !~ "x$") e = text_str(s) } delete t }' % WORK, []),
    "printf": ('probe %s { printf("%%d %%s %%x %%p %%c\\n", $number, user_string_quoted($text), $number, $item, 65) } '
               'probe timer.ms(10) { printf("%%s\\n", ctime(gettimeofday_s())) }' % WORK, []),
    "histogram": ('global h, g, l probe %s { h <<< $number; g[$number & 15] <<< $number & 1023; l <<< $number & 255 } '
                  'probe timer.ms(13) { print(@hist_log(h)) foreach (k in g- limit 3) print(@hist_log(g[k])) '
                  'print(@hist_linear(l, 0, 250, 10)) printf("%%d %%d %%d\\n", @avg(h), @min(h), @max(h)) } '
                  'probe end { print(@hist_log(h)) }' % WORK, []),
    "stacks": ('global seen probe process.function("leaf") { if (randint(100) == 0) { print_ubacktrace() '
               'print_ubacktrace_fileline() } seen[sprint_ubacktrace()]++ } probe timer.ms(25) { foreach (s in seen- limit 5) '
               'printf("%s %d\\n", s, seen[s]) delete seen }', []),
    "callers": ('global u probe process.function("deep") { u = ubacktrace() v = symname(uaddr()) . modname(uaddr()) . '
                'usymdata($number) if (u == v) println(v) } probe timer.ms(15) { print_ustack(u) println(sprint_ustack(u)) }',
                []),
    "returns": ('global t, d probe process.function("work").return, process.function("deep").return { t <<< gettimeofday_ns() - '
                '@entry(gettimeofday_ns()) d[probefunc()] <<< $return; if (@entry($number) == 7) println(returnval()) } '
                'probe timer.ms(20) { println(@count(t)) foreach (f in d) println(@sum(d[f])) }', []),
    "procfs": ('global n, k, last = "none" probe %s { n[$number & 31]++ } probe procfs("total").read { foreach (k- in n) '
               '$value .= sprintf("%%d %%d %%s\\n", k, n[k], last) } probe procfs("total").write { last = $value }' % WORK,
               ["-m", "attacked{number}", "--http=0", "-v"]),
    "system": ('global n probe %s { n++ } probe timer.ms(200) { system("true spile-asked-for") }' % WORK, []),
    "errors": ('global a[3] probe %s { a[$number & 1] = $number if (($number & 15) == 3) error("made up") println(1000 / '
               '($number & 7)) } probe error { println("sorry") } probe timer.ms(10) { foreach (x in a) println(a[x]) }' % WORK,
               ["-D", "MAXERRORS=1000000"]),
    "bulk": ('probe %s { printf("%%d %%s\\n", $number, user_string_n2($text, 20, "bad")) } '
             'probe timer.ms(20) { println("tick") }' % WORK,
             ["-b", "-o", "{base}"]),
    "files": ('probe %s { printf("%%d\\n", $number) } probe timer.ms(20) { println("tick") }' % WORK,
              ["-o", "{base}", "-S", "1,2"]),
    "lives": ('global n probe process.begin, process.end, process.thread.begin, process.thread.end { printf("%d %s %s %s\\n", '
              'tid(), execname(), cmdline_str(), pp()) n[pid(), tid()]++ } probe timer.ms(30) { foreach ([p, t] in n limit 9) '
              'printf("%d %d\\n", p, t) }', []),
    "calls": ('global n probe process.syscall { n[syscall_name($syscall)]++ } probe process.syscall.return { n["r"] += $return } '
              'probe timer.ms(20) { foreach (s in n- limit 9) printf("%s %d\\n", s, n[s]) }', []),
    "profile": ('global n probe timer.profile { n[sprint_ubacktrace()]++ } probe timer.ms(50) { foreach (s in n- limit 3) '
                'println(s) delete n }', ["--runtime=inproc"]),
    "memory": ('global n, t probe %s { n += $item->number + $item->next->next->number t = $item->text$ . $$parms$$ } '
               'probe timer.ms(10) { printf("%%d %%s\\n", n, t) }' % WORK, []),
    "conditions": ('global on = 1, c probe process.function("leaf") if (on) { c++ } probe timer.ms(3) { on = !on } '
                   'probe process.function("deep") if (c & 1) { c++ } probe timer.ms(50) { println(c) }', []),
    "display": ('global a, b, s, n = "x" probe %s { a[$number & 7, execname()] = $number; b[$number & 3] <<< $number; '
                's <<< $number; n = execname() } ' % WORK, []),
    "recorder": ('global n probe %s { printf("%%d %%s\\n", n++, user_string_n2($text, 30, "bad")) }' % WORK, ["-F", "-s", "1"]),
}

TROUBLE = re.compile(rb"AddressSanitizer|runtime error:|CHECK failed|terminate called|std::|Assertion|stack smashing|double "
                     rb"free|Aborted|Segmentation fault")
MOST_MEMORY_KB = 2 << 20


class Failure(Exception):
    pass


def children_of(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Spile:
    """One spile that traces the attacker, and what is known of it."""

    def __init__(self, round_, number, name, pid):
        self.round, self.name = round_, name
        script, options = SCRIPTS[name]
        self.folder = round_.folder / "root" / f"spile{number}"
        (self.folder / "cwd").mkdir(parents=True)
        self.err_path = self.folder / "stderr"
        fill = {"base": str(self.folder / "out"), "number": f"{os.getpid()}_{number}"}
        self.arguments = [option.format(**fill) for option in options] + ["-x", str(pid), "-e", script]
        environment = {**os.environ, "HOME": str(self.folder), "TMPDIR": str(self.folder / "cwd"),
                       "XDG_CACHE_HOME": str(round_.cache),
                       "ASAN_OPTIONS":
                       "detect_leaks=0:abort_on_error=0:allocator_may_return_null=0:handle_segv=1:max_allocation_size_mb=4096",
                       "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
        self.written = 0
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([str(round_.campaign.spile), *self.arguments], stdout=subprocess.PIPE, stderr=err,
                                            stdin=subprocess.DEVNULL, cwd=self.folder / "cwd", env=environment)
        self.first = b""
        self.reader = threading.Thread(target=self.drain, daemon=True)
        self.reader.start()

    def drain(self):
        while chunk := self.process.stdout.read1(1 << 16):
            self.written += len(chunk)
            if len(self.first) < 1000:
                self.first += chunk[:1000]

    def errors(self):
        with open(self.err_path, "rb") as file:
            return file.read(1 << 20)

    def watched(self):
        """The process that traces: with -F it is one that has gone into the background."""
        if "-F" not in self.arguments:
            return self.process.pid
        match = re.match(rb"(\d+)\n", self.first)
        return int(match[1]) if match else self.process.pid

    def has_begun(self):
        """Whether signals end it in an orderly way (it has blocked SIGINT), or it has ended already."""
        if self.watched() == self.process.pid and self.process.poll() is not None:
            return True
        try:
            status = pathlib.Path(f"/proc/{self.watched()}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        blocked = re.search(r"^SigBlk:\s+(\w+)", status, re.M)
        return blocked is not None and int(blocked[1], 16) >> (signal.SIGINT - 1) & 1 == 1

    def look(self):
        pid = self.watched()
        for child in children_of(pid):
            command = command_of(child)
            own = command == "" or command.startswith(str(self.round.campaign.spile))
            asked = self.name == "system" and "true spile-asked-for" in command
            if not own and not asked and os.path.exists(f"/proc/{child}"):
                raise Failure(f"spile started: {command!r}")
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        memory = re.search(r"^RssAnon:\s+(\d+)", status, re.M)
        if memory and int(memory[1]) > MOST_MEMORY_KB:
            raise Failure(f"spile uses {memory[1]} kB of memory")

    def use(self):
        """What somebody would do with it meanwhile."""
        if "--http=0" in self.arguments and (match := re.search(rb"http://127\.0\.0\.1:(\d+)/", self.errors())):
            try:
                with socket.create_connection(("127.0.0.1", int(match[1])), timeout=0.5) as connection:
                    connection.sendall(b"GET /total HTTP/1.0\r\n\r\n")
                    connection.recv(1 << 16)
            except OSError:
                pass

    def stop(self, limit):
        pid = self.watched()
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            pass
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if "-F" in self.arguments and self.process.poll() is not None:
                try:
                    if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                        return
                except (FileNotFoundError, ProcessLookupError):
                    return
            elif self.process.poll() is not None:
                return
            time.sleep(0.01)
        stacks = ""
        if shutil.which("gdb"):
            try:
                stacks = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 25"], capture_output=True,
                                        timeout=120, stdin=subprocess.DEVNULL).stdout.decode(errors="replace")
            except subprocess.TimeoutExpired:
                stacks = "gdb did not end within 120 s either"
        raise Failure(f"spile did not end within {limit} s\n{stacks[-6000:]}")

    def judge(self):
        status = self.process.returncode
        errors = self.errors()
        # The attacker may have ended before spile had begun: Ctrl-C ends it as it is then.
        if status not in (0, 1, -signal.SIGINT):
            raise Failure(f"spile's status is {status}")
        if TROUBLE.search(errors):
            raise Failure("spile reports a fault of its own")
        allowed = {"cwd", "stderr"}
        extra = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                 if path.name not in allowed and not ({"-o"} & set(self.arguments) and path.name.startswith("out"))
                 and ".cache" not in path.parts]
        if extra:
            raise Failure(f"spile wrote: {extra}")

    def end(self):
        for pid in {self.process.pid, self.watched()}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.reader.join(5)


class Round:
    def __init__(self, campaign, seed):
        self.campaign, self.seed = campaign, seed
        self.chance = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attack-"))
        self.cache = campaign.cache
        self.spiles = []
        self.target = None

    def run(self):
        os.chmod(self.folder, 0o755)
        (self.folder / "root").mkdir(mode=0o755)
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        options = self.campaign.options
        several = options.spiles or (1 if self.chance.random() < 0.75 else self.chance.choice([2, 3]))
        choice = self.campaign.names
        first = choice[(self.seed - options.seed) % len(choice)] if options.script else self.chance.choice(choice)
        names = [first] + [self.chance.choice(choice) for _ in range(several - 1)]
        names = [name if name != "calls" or several == 1 else "count" for name in names]
        seconds = options.seconds * (0.5 + self.chance.random())
        command = [str(self.campaign.attacker), str(self.seed), str(seconds + 60), str(theirs)]
        if options.actions:
            command.append(options.actions)
        self.target = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, cwd=theirs,
                                       user=NOBODY, group=NOBODY, extra_groups=[], start_new_session=True)
        if self.target.stdout.readline() != b"ready\n":
            raise Failure("the attacker did not begin")
        for number, name in enumerate(names):
            self.spiles.append(Spile(self, number, name, self.target.pid))
            time.sleep(self.chance.random() * 0.2)
        self.wait_for_tracing()
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.target.poll() is None:
            for one in self.spiles:
                one.look()
                one.use()
            time.sleep(0.02)
        for one in self.spiles:
            one.look()
            one.stop(self.campaign.options.limit)
        for one in self.spiles:
            one.judge()
        if (self.folder / "root/stolen").exists():
            raise Failure("a file of root's was made")

    def wait_for_tracing(self):
        """Until all of them have begun: spile takes time to compile on a busy machine."""
        end = time.monotonic() + 120
        while time.monotonic() < end and self.target.poll() is None:
            if all(one.has_begun() for one in self.spiles):
                break
            time.sleep(0.02)

    def end(self, keep):
        for one in self.spiles:
            one.end()
        if self.target:
            # Children that stand at locks of the dead, too: they have its output open.
            try:
                os.killpg(self.target.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.target.kill()
            said = self.target.stdout.read()
            self.target.wait()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.target and b"BROKEN" in said:
            raise Failure(said.decode(errors="replace"))


class Campaign:
    def __init__(self, options):
        self.options = options
        self.spile = pathlib.Path(options.spile).resolve()
        self.attacker = pathlib.Path(options.attacker).resolve()
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="attack-cache-"))
        self.failed = []
        self.names = options.script.split(",") if options.script else sorted(SCRIPTS)

    def check_scripts(self):
        """A script that does not compile would be a round that tries nothing."""
        target = subprocess.Popen([str(self.attacker), "1", "900", "/tmp", "none"], stdout=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL)
        target.stdout.readline()
        for name in self.names:
            script, options = SCRIPTS[name]
            kept = [option for option in options if "=" in option and "http" not in option and option.startswith("--")]
            done = subprocess.run([str(self.spile), "-p4", *kept, "-x", str(target.pid), "-e", script], capture_output=True,
                                  timeout=120,
                                  env={**os.environ, "XDG_CACHE_HOME": str(self.cache), "ASAN_OPTIONS": "detect_leaks=0"})
            if done.returncode != 0:
                target.kill()
                sys.exit(f"script {name} does not compile:\n{done.stderr.decode(errors='replace')[:1000]}")
        target.kill()
        target.wait()

    def round(self, seed):
        one = Round(self, seed)
        failure = None
        try:
            one.run()
        except Failure as caught:
            failure = caught
        try:
            one.end(keep=failure is not None)
        except Failure as caught:
            failure = failure or caught
        if failure is None:
            return True
        self.failed.append(seed)
        print(f"FAIL: round of seed {seed} ({', '.join(s.name for s in one.spiles)}): {failure}\n  kept in {one.folder}")
        for spile in one.spiles:
            text = spile.errors().decode(errors="replace")
            print(f"  --- {spile.name}: status {spile.process.returncode}, {spile.written} bytes written, stderr:")
            lines = [line for line in text.splitlines() if "WARNING" not in line] or text.splitlines()
            print("\n".join("  " + ascii(line)[1:300] for line in lines[-40:]))
        sys.stdout.flush()
        return False

    def run(self):
        options = self.options
        print(f"first seed {options.seed}: {self.spile}")
        self.check_scripts()
        started, done = time.monotonic(), 0
        while (done < options.rounds if options.rounds else time.monotonic() - started < options.minutes * 60):
            self.round(options.seed + done)
            done += 1
            if options.stop and self.failed:
                break
        shutil.rmtree(self.cache, ignore_errors=True)
        print(f"{done} rounds in {time.monotonic() - started:.0f} s, {len(self.failed)} failed: {self.failed}")
        return 1 if self.failed else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("SPILE_BUILD", ROOT / "build/release"))
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 40))
    parser.add_argument("--seconds", type=float, default=2, help="of a round, about")
    parser.add_argument("--limit", type=float, default=30, help="seconds within which spile must end when it is asked to")
    parser.add_argument("--spile", default=os.environ.get("SPILE", build / "bin/spile"))
    parser.add_argument("--attacker", default=build / "programs/attacker")
    parser.add_argument("--script", help="one or several of: " + ", ".join(sorted(SCRIPTS)) + "; round by round")
    parser.add_argument("--actions", help="of attacker.cpp; else drawn from the seed")
    parser.add_argument("--spiles", type=int, default=0)
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    options = parser.parse_args(arguments)
    if os.geteuid() != 0:
        print("skip: needs root, to trace a program of another user")
        return 77
    return Campaign(options).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
