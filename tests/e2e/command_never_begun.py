# What can't start leaves -c's command unrun: begin probes that end the session, and refusals after it was loaded.
from spiletest import *

mark = temporary_directory() / "ran"
command = f"touch {mark}"
spile("-e", "probe begin { exit() } probe process.function(\"main\") {}", "-c", str(program("calls")) + " 1").expect(status=0)
spile("-e", "probe begin { exit() }", "-c", command).expect(status=0)
expect_true(not mark.exists(), "the command ran although the script ended before it")
spile("-e", "probe begin { error(\"no\") }", "-c", command).expect(status=1)
expect_true(not mark.exists(), "the command ran although begin failed")
spile("-e", "probe begin {}", "-c", command).expect(status=0)
expect_true(mark.exists(), "the command did not run")
