# The command line's conventions: -o, -G, -I, -D, $1 and @1, a script file, standard input, --version, --help.
from spiletest import *

directory = temporary_directory()
script = directory / "script.stp"
script.write_text('probe begin { printf("%d %s\\n", $1 + 1, @2); exit() }\n')
spile(script, 41, "word").expect(out="42 word\n", status=0)
spile("-", 1, "x", input=script.read_text()).expect(out="2 x\n", status=0)
spile("-o", directory / "out", script, 1, "to a file").expect(out="", status=0)
expect((directory / "out").read_text(), "2 to a file\n")
spile("-G", "bound=7", "-e", "global bound = 3 probe begin { println(bound); exit() }").expect(out="7\n", status=0)
(directory / "library").mkdir()
(directory / "library/more.stp").write_text('function twice(x) { return 2 * x }\n')
spile("-I", directory / "library", "-e", "probe begin { println(twice(21)); exit() }").expect(out="42\n", status=0)
spile("-e", "probe begin { println($1); exit() }").expect(status=1, out="", err_match=r"error:.*(argument|\$1)")
spile("--version").expect(status=0, out_match=r"^spile \d+\.\d+")
spile("--help").expect(status=0, out_match=r"-x")
spile().expect(status=1)
spile("--no-such-option").expect(status=1, out="", err_match="no-such-option")
