# A command starts with the signals blocked and ignored that it has without spile: `sort | head` depends on SIGPIPE.
from spiletest import *

command = ["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
plain = start(*command).communicate()[0].decode()
spile("-e", "probe process.begin { }", "-c", " ".join(f"'{word}'" for word in command)).expect(out=plain, status=0)
