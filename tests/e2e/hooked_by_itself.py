# A program that hooks a probed function, or reads its text anew: it runs on through what it has saved of the text after spile has
# gone, spile says that the place was overwritten, and the next spile finds all in order.
# variants: hook reread shared
from spiletest import *

COUNT = 'global n probe process.function("probed") { n++ } probe end { printf("hits %d\\n", n) }'
RETURNS = 'probe process.function("probed").return { if ($return != $value * 3 + 1) error("wrong") }'
target = start(program("hooker"), ready="ready", stdin=subprocess.PIPE)


def command(text):
    target.stdin.write(text.encode() + b"\n")
    target.stdin.flush()
    return target.stdout.readline().decode().strip()


def call(hooked):
    expect(command("call 100"), f"called 100, 0 wrong, {hooked} hooked", "what the program computes")


def spiles_mappings():
    return [line for line in foreign_mappings(target.pid) if "memfd:spile" in line]  # the program makes code, too


text = command("bytes")
OVERWRITTEN = "probed places were overwritten, and hits there may be missing: 1 \\(hooker[+]0x"
LEFT = "the process keeps spile's code"
if VARIANT == "hook":
    session = Session("-v", "-e", COUNT + RETURNS, "-x", target.pid).attached(target.pid)
    call(0)
    command("hook")
    call(100)  # the hook leads on to the probe
    session.stop().expect(status=0, out="hits 200\n", err_match=f"{OVERWRITTEN}.*{LEFT}")
    call(100)
    spile("-T1", "-e", COUNT, "-x", target.pid)  # finds what was left, and leaves it, since the hook may be taken out
    call(100)
    command("unhook")
    call(0)
if VARIANT == "reread":
    session = Session("-v", "-e", COUNT + RETURNS, "-x", target.pid).attached(target.pid)
    call(0)
    command("reread")
    call(0)
    result = session.stop().expect(status=0, out="hits 100\n", err_match=OVERWRITTEN)
    expect_true(LEFT not in result.err, result)
    expect(command("bytes"), text, "text of the program")
    expect(spiles_mappings(), [], "mappings of spile")
if VARIANT == "shared":  # of two sessions, one that leaves while the other one goes on
    first = Session("-v", "-e", COUNT, "-x", target.pid).attached(target.pid)
    second = Session("-v", "-e", COUNT.replace("n++", "n += 2"), "-x", target.pid).attached(target.pid)
    call(0)
    command("hook")
    call(100)
    second.stop().expect(status=0, out="hits 400\n")
    call(100)
    first.stop().expect(status=0, err_match=OVERWRITTEN)
    call(100)
    command("unhook")
    call(0)
session = Session("-v", "-e", COUNT, "-x", target.pid).attached(target.pid)
call(0)
session.stop().expect(status=0, out="hits 100\n")
call(0)
expect(command("bytes"), text, "text of the program")
expect(spiles_mappings(), [], "mappings of spile")
target.stdin.close()
expect(target.wait(10), 0, "status of the program")
