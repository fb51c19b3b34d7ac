# variants: dynamic static attached
# pid() and tid() are those of the very thread that hits, whatever thread or process lived in its place before.
from spiletest import *

rounds = 50
hits = rounds * (1 + 40 + 42 + 1 + 1 + 1)
script = """global good, bad
probe process.function("who") {
  if ($pid == pid() && $tid == tid()) good++
  else { bad++; printf("pid %d tid %d, told pid %d tid %d\\n", $pid, $tid, pid(), tid()) }
}
probe end { printf("good %d bad %d\\n", good, bad) }"""

if VARIANT == "attached":
    target = start(program("identities"), rounds, "wait", ready="ready", stdin=subprocess.PIPE)
    session = Session("-e", script, "-x", target.pid).attached(target.pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    result = session.wait()
    expect(target.wait(), 0, "status of the program")
else:
    name = "identities" if VARIANT == "dynamic" else "identities_static"
    result = spile("-e", script, "-c", f"{program(name)} {rounds}")
result.expect(out_match=rf"^good {hits} bad 0$")
