# -F: runs in the background; keeps the last output in memory and gives it to --flight-dump, or writes -o's files.
from spiletest import *

directory = temporary_directory()
shared_memory = set(os.listdir("/dev/shm"))
recorders = []


def record(*arguments):
    pid = int(spile("-F", *arguments).expect(status=0, out_match=r"^\d+$", err="").out)
    recorders.append(pid)
    return pid


def ended(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def end(pid, how=signal.SIGTERM):
    os.kill(pid, how)
    wait_until(lambda: ended(pid), 20, "the recorder's end")


target = server()
counting = r'global n probe process.function("work") { printf("%d %0512d\n", n++, 0) }'
pid = record("-s", "1", "-x", target.pid, "-e", counting)
wait_until(lambda: spile("--flight-dump", pid).expect(status=0).out[:2] not in ("", "0 "), 30, "the oldest output to be dropped")
dumped = [int(line.split()[0]) for line in spile("--flight-dump", pid).expect(status=0).out.splitlines()]
expect(dumped, list(range(dumped[0], dumped[0] + len(dumped))), "the numbers kept")
expect(1900 <= len(dumped) <= 2100, True, f"a MiB of them, not {len(dumped)}")
end(pid)
expect_untouched(target.pid)
spile("--flight-dump", pid).expect(status=1, out="", err_match="is not a flight recorder")

# With -o and -S: files; SIGUSR2 begins the next. Killed, its files stay readable and the target goes on.
pid = record("-o", directory / "f", "-S", "1,3", "-x", target.pid, "-e", r'probe timer.ms(5) { println("tick") }')
wait_until(lambda: "tick" in (directory / "f.0").read_text(), 20, "output")
os.kill(pid, signal.SIGUSR2)
wait_until(lambda: (directory / "f.1").exists() and "tick" in (directory / "f.1").read_text(), 20, "the next file")
end(pid, signal.SIGKILL)
expect(set((directory / "f.1").read_text().splitlines()), {"tick"})
expect(target.poll(), None, "the target's status")
expect(set(os.listdir("/dev/shm")) - shared_memory, set(), "left in /dev/shm")
finish(target)

# What fails, fails at once and in the foreground.
spile("-F", "-e", "probe begin { error(\"no\") }").expect(status=0)
spile("-F", "-e", "probe begin { ").expect(status=1, err_match="error")
spile("-F", "-x", 999999999, "-e", counting).expect(status=1)
spile("-F", "-c", "true", "-e", counting).expect(status=1, err_match="-F and -c")
