# system() in handlers about a process that may do less than spile: a command that the script spells out is run, one that is
# made when the handler runs is refused, unless -g accepts it.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root to trace another user's process")
directory = temporary_directory()
made, own = directory / "made", directory / "own"
MADE = f'probe process.function("work") {{ system(sprintf("touch %s", "{made}")) exit() }}'
OWN = f'global once probe process.function("work") {{ if (once++ == 0) system("touch {own}") exit() }}'

target = start(program("server"), 60, 1, ready="ready", user="nobody")
result = spile("-e", MADE, "-x", target.pid)
result.expect(status=1, out="", err_match=rf"<input>:1:\d+: error: system\(\): the command is computed in a handler.*process "
                                          rf"{target.pid} belongs to user \d+")
expect_match("hint: use a literal command", result.err)
expect_untouched(target.pid)
expect(made.exists(), False, "the command was run")
spile("-e", OWN, "-x", target.pid).expect(status=0)
expect(own.exists(), True, "the script's own command was run")
own.unlink()
# Where the handler runs in spile, or the process could run it itself, or -g is given.
spile("-e", f'probe timer.ms(10) {{ system(sprintf("touch %s", "{made}")) exit() }}', "-x", target.pid).expect(status=0)
expect(made.exists(), True, "a timer's command was run")
made.unlink()
spile("-g", "-e", MADE, "-x", target.pid).expect(status=0)
expect(made.exists(), True, "with -g, the command was run")
made.unlink()
spile("-e", MADE, "-c", f"{program('server')} 2").expect(status=0)
expect(made.exists(), True, "the command of a process of spile's own user was run")
made.unlink()
# A process that gives up its rights while it is traced.
nobody = pwd.getpwnam("nobody").pw_uid
become = f"setpriv --reuid={nobody} --regid={nobody} --clear-groups {program('server')} 2"
spile("-e", MADE.replace("process.", f'process("{program("server")}").'), "-c", become).expect(
    status=1, err_match=r"^ERROR: system\(\) at <input>:1:\d+: .*process \d+ belongs to user")
expect(made.exists(), False, "the command was run")
# Nor one that has ended before anybody looked at its user; the next line is that of a process of spile's user, and is believed.
LATE = f'probe process.function("work") {{ if (int_arg(1) < 0) system(sprintf("touch %s", "x")) }} probe timer.s(2) {{ exit() }}'
result = spile("-e", LATE, "-c", f"{program('forger')} dying {1 << 20} touch\\ {made}", "-s", "1")
expect(made.exists(), False, f"a command of a worker that gave up its rights was run\n{result}")
expect_match(r"^ERROR: system\(\) at <input>:1:\d+: .*process \d+ ", result.err, "the error")
expect_untouched(target.pid)
finish(target)
