# A command that goes into the background: spile ends when the process that it started ends, as SystemTap does, and what is
# left of the command runs on without probes.
from spiletest import *

file = temporary_directory() / "said"
result = spile("-e", 'global n probe process.function("foo") { n++ } probe process.function("foo").return { } '
                     'probe end { println("ended ", n >= 0) }',
               "-c", f"{program('forks')} daemon 3 {file}")
result.expect(out="ended 1\n", status=0)
wait_until(lambda: file.exists() and file.read_text(), 30, "the daemon to begin")
daemon = int(file.read_text().split()[0])
if file.read_text().count("\n") == 1:
    expect_untouched(daemon)
wait_until(lambda: file.read_text().count("\n") == 2, 60, "the daemon's end")
expect(file.read_text(), f"{daemon}\ngood\n", "what the daemon says")
