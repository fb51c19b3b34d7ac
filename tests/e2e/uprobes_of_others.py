# Uprobes that others set on functions which spile probes, before or after it, at the first instruction or another one that the
# jump is laid over, and that go while it is there or later: nothing dies, nothing is computed wrongly, and hits that may be
# missing are reported. First instructions have 1 to 9 bytes.
# variants: later gone before returns static
import ctypes
import struct
from pathlib import Path

from spiletest import *

if os.geteuid() != 0:
    skip("needs root to set uprobes")
def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


KIND = Path("/sys/bus/event_source/devices/uprobe/type")
if not KIND.exists():
    skip("the kernel has no uprobes")
binary = program("uprobed_static" if VARIANT == "static" else "uprobed")
names = re.findall(r'\{"(\w+)", \w+\}', (Path(__file__).parent.parent / "programs/uprobed.c").read_text())
expect_true(len(names) == 17, names)
addresses = dict(reversed(line.split()[::2]) for line in tool("nm", binary).splitlines() if line.split()[-1] in names)
listing = tool("objdump", "-d", "--no-show-raw-insn", binary)
libc = ctypes.CDLL(None, use_errno=True)


def file_offset(address):
    for line in tool("readelf", "-lW", binary).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, begin, size = int(words[1], 16), int(words[2], 16), int(words[4], 16)
            if begin <= address < begin + size:
                return address - begin + offset
    raise ValueError(hex(address))


def boundaries(name):
    """Where instructions begin that a jump at the function's begin is laid over."""
    begin = int(addresses[name], 16)
    found = [int(at, 16) for at in re.findall(r"^ *([0-9a-f]+):\t", listing, re.M)]
    return [at - begin for at in found if begin <= at < begin + (9 if name == "endbr4" else 5)]


class Uprobe:
    def __init__(self, pid, name, at):
        self.path = ctypes.create_string_buffer(str(binary).encode())
        attribute = bytearray(136)
        struct.pack_into("IIQ", attribute, 0, int(KIND.read_text()), 136, 0)
        struct.pack_into("QQ", attribute, 56, ctypes.addressof(self.path), file_offset(int(addresses[name], 16) + at))
        buffer = ctypes.create_string_buffer(bytes(attribute), 136)
        self.fd = libc.syscall(298, buffer, pid, -1, -1, 0)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")

    def close(self):
        os.close(self.fd)


class Target:
    def __init__(self):
        self.process = start(binary, ready="ready", stdin=subprocess.PIPE)
        self.pid = self.process.pid
        self.calls = 0

    def call(self, what, count=20):
        self.process.stdin.write(f"call {count}\n".encode())
        self.process.stdin.flush()
        self.calls += count
        expect(self.process.stdout.readline().decode().strip(), f"called {count}, 0 wrong", what)

    def end(self):
        self.process.stdin.close()
        expect(self.process.wait(10), 0, "status of the program")


PROBES = ", ".join(f'process.function("{name}")' for name in names)
COUNTS = f"global n probe {PROBES} {{ n[ppfunc()]++ }}"
if VARIANT == "returns":
    COUNTS = f"global n probe {', '.join(f'{point}.return' for point in PROBES.split(', '))} {{ n[ppfunc()]++ }}"
SCRIPT = COUNTS + ' probe end { foreach (f+ in n) printf("%s %d\\n", f, n[f]) }'
OVERWRITTEN = "probed places were overwritten"


def attach(target):
    return Session("-v", "-e", SCRIPT, "-x", target.pid).attached(target.pid)


def check(result, target, probed, what):
    """Each function was counted at each call, or the loss was reported."""
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", result.out, re.M)}
    fewer = {name: counts.get(name, 0) for name in names if counts.get(name, 0) != target.calls}
    expect(set(fewer) - set(probed), set(), f"{what}: functions without a uprobe that were not counted: {counts}\n{result.err}")
    silent = [name for name in fewer
              if not re.search(f"{OVERWRITTEN}|{name} in .* can't be probed|{name} .*: refused", result.err)]
    expect(silent, [], f"{what}: functions whose loss is not reported, of {target.calls} calls: {counts}\n{result.err}")
    if LONG_FORM:
        print(what, {name: at for name, at in probed.items()}, fewer, result.err)


rounds = max(len(boundaries(name)) for name in names)
expect_true(rounds >= 3, rounds)
for nth in range(rounds):
    probed = {name: boundaries(name)[nth] for name in names if len(boundaries(name)) > nth and name != "plain"}
    what = f"uprobes at instruction {nth}"
    target = Target()
    if VARIANT == "before":
        uprobes = [Uprobe(target.pid, name, at) for name, at in probed.items()]
        session = attach(target)
        target.call(f"{what}, which were there before")
        for uprobe in uprobes:
            uprobe.close()
        target.call(f"{what}, which have gone")
        check(session.stop().expect(), target, probed, what)
    else:
        session = attach(target)
        target.call("before any uprobe")
        uprobes = [Uprobe(target.pid, name, at) for name, at in probed.items()]
        if VARIANT == "gone":
            time.sleep(1.5)  # spile looks ten times a second
        else:
            target.call(f"{what}")
            target.call(f"{what}, again")
        for uprobe in uprobes:
            uprobe.close()
        target.call(f"{what}, which have gone")
        check(session.stop().expect(status=0), target, probed, what)
    target.call(f"{what}, when spile has gone")
    expect_untouched(target.pid)
    target.end()
