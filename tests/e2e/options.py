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

# A wrong line is rejected with an error.
for line, message in [(["-p9", "-e", ""], "pass number '9'"), (["-e", "a", "-e", "b"], "only one script"),
                      (["-B", "X=1", script], "-B is not supported"),
                      (["-r", "0.99", script], "running kernel"), (["-S", "1", script], "-S needs -o"),
                      (["-D", "MAXACTIN=1", script, 1, 2], "did you mean MAXACTION"), (["-l", "begin", "-e", "x"], "-l")]:
    spile(*line).expect(status=1, out="", err_match=message)

# Passes one by one, files that are kept, warnings that count.
spile("-v", "-e", "probe oneshot {}").expect(
    status=0, err_match=r"^Pass 1: parsed user script and \d+ library scripts using \d+virt/\d+res/\d+shr/\d+data kb, "
                        r"in \d+usr/\d+sys/\d+real ms\.$(.|\n)*^Pass 2: analyzed script: 1 probe, 0 functions, "
                        r"0 embeds, 0 globals(.|\n)*^Pass 5: starting run\.$(.|\n)*^Pass 5: run completed in ")
spile("--vp", "01", "-e", "probe oneshot {}").expect(status=0, err_match=r"^Pass 2: [^\n]*\n$")
kept = directory / "kept"
spile("-k", "--tmpdir", kept, "-m", "mine", "-e", "probe oneshot {}").expect(status=0, err_match="Keeping temporary directory")
expect(sorted(f.name for f in kept.iterdir()), ["1-tree.stp", "2-program.txt", "mine-controller.bin"])
unused = "global never_used probe oneshot { println(1) }"
spile("-e", unused).expect(status=0, out="1\n", err_match="warning")
spile("-w", "-e", unused).expect(status=0, out="1\n", err="")
spile("-W", "-e", unused).expect(status=1, out="", err_match="1 warning treated as errors")
spile("--vp", "01", "-e", "global g function f() { return 1 } probe oneshot { if (1) next; unread = f(); println(3) }").expect(
    status=0, out="", err_match=r"eliding unused variable 'g': <input>:1:8\n(.|\n)*eliding statement that is never reached: ")
spile("--vp", "01", "-u", "-e", "global g probe oneshot { }").expect(status=0, err_match=r"^((?!eliding)(.|\n))*$")
spile("--color", "-e", unused).expect(status=0, err_match="\x1b\\[01;35mwarning")

# Symbols of modules: there always, but a module that does not exist gets a warning.
spile("-d", "/bin/sh", "-d", "kernel", "--ldd", "--all-modules", "-e", "probe oneshot {}").expect(status=0, out="", err="")
for module, why in [("/nope/x", "no such file"), ("nosuchmodule", "no kernel module"), (script, "not an ELF file"),
                    ("/tmp", "not an ELF")]:
    spile("-d", module, "-e", "probe oneshot { println(1) }").expect(
        status=0, out="1\n", err_match=f"warning: missing unwind/symbol data for module '{module}'\n  hint: [^\n]*{why}")
spile("-W", "-d", "/nope/x", "-e", "probe oneshot {}").expect(status=1, out="", err_match="-W")
spile("-d", "", "-e", "probe oneshot {}").expect(status=1, err_match="-d needs")

# Output: names by strftime, files of limited size.
spile("-o", directory / "day-%Y", "-e", "probe oneshot { println(5) }").expect(status=0, out="")
expect([f.read_text() for f in directory.glob("day-2*")], ["5\n"])
spile("-o", directory / "rotated", "-S", "1,2", "-DMAXACTION=1000000", "-e",
      'probe oneshot { for (i = 0; i < 70000; i++) printf("%049d\\n", i) }').expect(status=0, out="")
files = sorted(directory.glob("rotated*"))
expect([f.name for f in files], ["rotated.2", "rotated.3"])
expect(files[-1].read_text().endswith("%049d\n" % 69999), True)
expect(files[0].stat().st_size <= 1 << 20, True)

# The rc file, and handlers' errors suppressed.
(directory / "rc").write_text("-G bound=11  # always\n")
os.environ["SPILE_DIR"] = str(directory)
spile("-e", "global bound probe oneshot { println(bound) }").expect(out="11\n", status=0)
(directory / "rc").write_text("'")
spile("-e", "probe oneshot {}").expect(status=1, err_match="rc: a ' is never closed")
(directory / "rc").write_text("--no-such-option")
spile("-e", "probe oneshot {}").expect(status=1, err_match="/rc: unknown option '--no-such-option'")
(directory / "rc").unlink()
# Without a folder of its own, that of SystemTap: by its variable, or at home. spile's own at home comes first.
homes = {**os.environ, "HOME": str(directory)}
del homes["SPILE_DIR"]


def bound(**more):
    run = subprocess.run([SPILE, "-e", "global bound = 0 probe oneshot { println(bound) }"], env={**homes, **more},
                         capture_output=True, text=True)
    expect((run.returncode, run.stderr), (0, ""), "a run with an rc file")
    return int(run.stdout)


for folder, number in {".systemtap": 3, "elsewhere": 4, ".spile": 5}.items():
    (directory / folder).mkdir()
    (directory / folder / "rc").write_text(f"-G bound={number}\n")
    if folder == ".systemtap":
        expect((bound(), bound(SYSTEMTAP_DIR=str(directory / "nowhere")), bound(SPILE_DIR=str(directory))), (3, 0, 0))
    if folder == "elsewhere":
        expect(bound(SYSTEMTAP_DIR=str(directory / "elsewhere")), 4)
expect(bound(SYSTEMTAP_DIR=str(directory / "elsewhere")), 5)
spile("--suppress-handler-errors", "-e", "probe begin { error(\"x\") } probe end { println(2) }", "-T", "2").expect(
    out="2\n", status=0, err="WARNING: Number of errors: 1, skipped probes: 0\n")
spile("--no-global-var-display", "-e", "global a probe oneshot { a = 3 }").expect(status=0, out="")
spile("-e", "global a probe oneshot { a = 3 }").expect(status=0, out="a=3\n")
