# Standard output and error that can't be written, or are closed: spile goes on, or ends with a status that says so; never by
# abort.
import subprocess

from spiletest import *

COUNTS = "global n probe process.function(\"foo\") { n++ if (n % 10 == 0) warn(sprint(n)) } probe end { println(n) }"


def run(shell, *arguments):
    done = subprocess.run(["bash", "-c", f'{shell}', "bash", str(SPILE), *map(str, arguments)], capture_output=True, timeout=300,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# Messages that can't be written: a script that counts goes on.
for redirection in ["2>/dev/full", "2>&-", "2> >(true)"]:
    status, out, err = run(f'"$@" {redirection}', "-v", "-e", COUNTS, "-c", f"{program('calls')} 1000")
    expect((redirection, status, err), (redirection, 0, ""), "status")
    expect_match("^1000$", out, f"the count with {redirection}")

# Descriptors that are closed at the start: nothing of ours gets their numbers, and the program finds them closed.
for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]:
    file = temporary_directory() / "out"
    status, out, err = run(f'"$@" {closed}', "-o", file, "-e", COUNTS, "-c", f"{program('calls')} 1000")
    expect((closed, status), (closed, 0), "status")
    expect(file.read_text(), "1000\n", f"the count with {closed}")
status, out, err = run('"$@" >&-', "-e", "probe begin { exit() }", "-c", "sh -c '[ ! -e /proc/self/fd/1 ] && exit 7'")
expect_true(status in (0, 1), f"status {status} with a command\n{err}")

# Output that can't be written is an error.
for arguments in [["-e", 'probe begin { println("x") exit() }'], ["-e", "probe begin { exit() }", "-p1"], ["--dump-functions"],
                  ["--help"]]:
    status, out, err = run('"$@" >/dev/full', *arguments)
    expect((arguments, status), (arguments, 1), "status with a full disk")
    expect_match("No space left on device", err, "the error")
    status, out, err = run('"$@" >&-', *arguments)
    expect((arguments, status), (arguments, 1), "status with standard output closed")
    expect_match("^ERROR: write output: standard output is closed$", err, "the error")
expect(run('"$@"', "-o", "/dev/full", "-e", 'probe begin { println("x") exit() }'),
       (1, "", "ERROR: write output file /dev/full: No space left on device\nPass 5: run failed.\n"), "a file on a full disk")
expect(run('"$@"', "record", "-o", "/dev/full", "-e", 'probe begin { println("x") exit() }'),
       (1, "", "spile: write /dev/full: No space left on device\n  hint: nothing was recorded; "
               "name a file by -o on another disk, or make room\nPass 5: run failed.\n"), "a run on a full disk")
expect(run('"$@" >&-', "-e", "probe begin { exit() }"), (0, "", ""), "nothing to write")

# A reader that goes has what it wanted: silence.
for arguments in [["-e", "probe timer.ms(1) { for (i = 0; i < 99; i++) println(i) }"], ["--dump-functions"],
                  ["-l", f"process(\"{program('calls')}\").function(\"*\")"]]:
    status, out, err = run('"$@" | head -1; exit ${PIPESTATUS[0]}', *arguments)
    expect((arguments, err), (arguments, ""), "standard error")
    expect_true(status in (0, 1) and "-l" in arguments or status == 0, f"status {status} of {arguments}")
