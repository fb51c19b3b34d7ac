# A traced process that writes records into its output ring that no handler wrote (docs/security.md): kinds that make spile
# act count only where the script has handlers that write them, and whatever is believed is bounded.
from spiletest import *

RING = 1 << 20
directory = temporary_directory()
evidence = directory / "evidence"
COUNT = 'global n probe process.function("work") { n++ } '


def forge(what, script, *options, text="", status=0, seconds=60):
    """Runs the forger under the script until it says that spile has read all of it, then stops spile; its result, and whether it still ran."""
    session = Session("-s", 1, *options, "-e", script, "-c", f"{program('forger')} {what} {RING} {text}".strip())
    wait_until(lambda: "forged" in session.read(session.out) or session.process.poll() is not None, seconds, what,
               lambda: session.read(session.out) + session.read(session.err))
    running = session.process.poll() is None
    result = session.stop()
    expect_true(result.status in ([0, 1] if status is None else [status]), f"{what}: status\n{result}")
    return result, running


# system(): not where the script has none, nor any but the script's own.
forge("system", COUNT, text=f"touch\\ {evidence}")
expect(evidence.exists(), False, "a command that the script does not have was run")
forge("system", 'probe process.function("work") { if ($arg < 0) system("echo its own") }'.replace("$arg", "int_arg(1)"),
      text=f"touch\\ {evidence}")
expect(evidence.exists(), False, "a command other than the script's was run")

forge("own", COUNT + 'probe timer.ms(10) { printf("") }', text=f"touch\\ {evidence}")
expect(evidence.exists(), False, "a command in the ring of spile's own handlers was run")

# exit(), switch_file(), warnings and errors: of scripts that have none in a process.
result, running = forge("exit", COUNT + "probe end { println(n > 10) }")
expect(running, True, f"the session went on\n{result}")
expect_match("^1$", result.out, "the end probe")
expect_match("dropped that no handler of the script can have written", result.err, "the warning")
forge("switch", COUNT, "-o", directory / "out", "-S", "1")
expect(len(list(directory.glob("out.*"))), 1, "files")
result, running = forge("warnings", COUNT, text="unlikely")
expect_true("unlikely" not in result.err, f"a warning that no handler gave\n{result}")
result, running = forge("errors", COUNT, text="unlikely")
expect((running, "unlikely" in result.err), (True, False), f"an error that no handler raised\n{result}")

# Warnings and file switches of a script that has them are bounded.
result, running = forge("warnings", COUNT + 'probe process.function("work") { if (int_arg(1) < 0) warn("x") }', text="flood")
expect(result.err.count("flood"), 1000, "warnings printed")
expect_match(r"WARNING: 19000 more warnings not printed", result.err)
forge("switch", 'probe process.function("work") { if (int_arg(1) == -1) switch_file() } probe timer.ms(100) { println("x") }',
      "-o", directory / "many", "-S", "1")
expect_true(len(list(directory.glob("many.*"))) <= 500, "files of switch_file()")

# A time to come holds nothing back; the bytes are the forger's own.
result, running = forge("future", 'probe process.function("work") { printf("%s\\n", probefunc()) next }', text="from-the-future")
expect_match("^from-the-future$", result.out)
for what in ["heads", "nonsense"]:
    result, running = forge(what, 'global s probe process.function("work") { s <<< 1 printf("%d %*s\\n", 1, 2, '
                                  '"x") print(@hist_log(s)) print_ubacktrace() }'
                            ' probe end { println("end") }', "-DMAXERRORS=1000000", status=None)
    expect_match("^end$", result.out, f"{what}: the end probe")
    expect_true(len(result.err.splitlines()) <= 1020, f"{what}: warnings\n{result}")
