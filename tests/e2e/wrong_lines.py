# What a newcomer gets wrong on the command line: each is reported in a sentence, with status 1, and leaves nothing behind.
from spiletest import *

directory = temporary_directory()
ok = directory / "ok.stp"
ok.write_text("probe begin { exit() }\n")
(directory / "empty.stp").write_text("")
(directory / "binary.stp").write_bytes(pathlib.Path("/bin/true").read_bytes()[:3000])
(directory / "folder").mkdir()
(directory / "deep.stp").write_text("probe begin { x = " + "(" * 20000 + "1" + ")" * 20000 + " }")
(directory / "open.stp").write_text('probe begin { println("never closed) }')
PROBE = 'probe process.function("main") {}'
before = sorted(path.name for path in directory.rglob("*"))

LINES = [
    # Scripts.
    (["empty.stp"], "the script is empty"), (["binary.stp"], "binary file"), (["folder"], "is a directory"),
    (["missing.stp"], "missing.stp: No such file"), ([""], "name of the script file is empty"), (["deep.stp"], "nests deeper"),
    (["open.stp"], "never closed|not closed|unterminated"), (["-e", " "], "the script is empty"),
    (["-E", "global x"], "no probes found"),
    (["-"], "the script is empty"), ([], "a script must be specified"),
    # Options that are none, or lack their value.
    (["--bogus", ok], "unknown option '--bogus'"), (["-Z", ok], "unknown option '-Z'"),
    (["--dump"], "possibilities: --dump-probe-types --dump-probe-aliases --dump-functions"), (["--ldd=3", ok], "takes no value"),
    (["-e"], "'-e' needs a value"), (["-x"], "'-x' needs a value"), (["-d"], "'-d' needs a value"),
    (["-c", "", ok], "value of option '-c' is empty"),
    (["-c", "  ", ok], "value of option '-c' is empty"), (["-o", "", ok], "value of option '-o' is empty"),
    (["--monitor", ok], "--monitor is not supported"),
    # Values.
    (["-p", "0", ok], "pass number '0'"), (["-p", "x", ok], "pass number 'x'"), (["-T", "0", ok], "invalid timeout '0'"),
    (["-T", "abc", ok], "invalid timeout"), (["-s", "0", ok], "buffer size '0'"), (["-s", "99999", ok], "buffer size '99999'"),
    (["-S", "x", "-o", "o", ok], "file size option argument 'x'"), (["-m", "../x", ok], "invalid module name"),
    (["--runtime=foo", ok], "invalid runtime 'foo'"), (["--vp", "xyz", ok], "invalid --vp"), (["--color=maybe", ok], "--color"),
    (["--compatible=9.x", ok], "invalid version"), (["--privilege=root", ok], "--privilege"),
    (["-I", "nope", ok], "-I nope: not a directory"),
    (["-p2", "--print-after=infer-tpes", ok], "did you mean 'infer-types'"), (["--print-after=x", ok], "unknown step 'x'"),
    # Limits and globals.
    (["-DMAXACTION=99999999999999999999", ok], "from 0 to"), (["-DMAXACTION=abc", ok], "expected a number"),
    (["-D=3", ok], "invalid -D"),
    (["-DMAXSTRINGLEN=1000000000", ok], "MAXSTRINGLEN=1000000000: expected"), (["-DMAXSTRINGLEN=0", ok], "from 16"),
    (["-DMAXMAPENTRIES=-1", ok], "from 1 to"), (["-DMAXNESTING=100000000", ok], "from 1 to"),
    (["-G", "x", ok], "invalid -G"),
    (["-G", "a=text", "-e", "global a = 1 probe oneshot { println(a) }"], "'text' is not one"),
    # Whom to probe.
    (["-x", "0", ok], "process ID number '0'"), (["-x", "-5", ok], "process ID number '-5'"),
    (["-x", "no-such-program", ok], "no process is called 'no-such-program'"),
    (["-x", "2147483647", ok], "no process has the ID 2147483647"),
    (["-c", "/nope/cmd", ok], 'process "/nope/cmd": No such file'), (["-c", "nosuchcommand", "-e", PROBE], "not found in PATH"),
    (["-c", "./ok.stp", "-e", PROBE], "ok.stp"), (["-e", PROBE], "needs a program"),
    (["-c", "false", ok.name, "-p9"], "pass number"),
    (["-e", 'probe process("/nope/x").function("main") {}'], "No such file"),
    # Where to put things.
    (["-o", "/nope/x", ok], "/nope/x: No such file"), (["-o", "folder", ok], "folder: Is a directory"),
    (["-b", "-o", "/nope/x", "-e", "probe oneshot { println(1) }"], "/nope/x_0"),
    (["-k", "--tmpdir", "/nope/x", ok], "make folder /nope/x"),
    # Other things to do.
    (["-l"], "'-l' needs a value"), (["-l", "begin", "-l", "end"], "only one of -l"), (["-l", "nosuch"], "unknown probe point"),
    (["-L", 'process("/nope").function("*")'], "No such file"), (["-l", "begin", "-e", "x"], "can't be given together"),
    (["--merge"], "needs the files"), (["--merge", "/nope"], "open /nope"), (["--merge", ok], "not written by spile -b"),
    (["--flight-dump", "x"], "process ID 'x'"), (["--flight-dump", "2147483647"], "is not a flight recorder"),
    (["-F", "-c", "true", ok], "-F and -c"), (["-e", "probe end {}", "-e", "probe end {}"], "only one script"),
]
for line, message in LINES:
    spile(*line, cwd=directory, input="").expect(status=1, out="", err_match=message)
expect(sorted(path.name for path in directory.rglob("*")), before, "files")
