# Each message that docs/troubleshooting.md explains is one that spile prints: its words between what differs stand in the sources.
from spiletest import *

sources = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.cpp")) + sorted((ROOT / "src").rglob("*.h")))
sources = re.sub(r'"\s*\n\s*"', "", sources).replace(r"\"", '"')
rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/troubleshooting.md").read_text(), re.M)
messages = [message for row in rows for message in re.findall(r"`([^`]+)`", row)]
expect_true(len(messages) >= 40, f"{len(messages)} messages")
for message in messages:
    parts = [part.strip() for part in re.split(r"'[^']*'|\.\.\.|\b(?:[NMf]|PATH|PROGRAM)\b|\$x|\(gdb\)|[():]", message)]
    for part in parts:
        expect_true(len(part) < 8 or part in sources, f"no message has {part!r}, of {message!r}")
