# Files that others put where spile will look, or write: names of a row that it can be guessed to make next, a folder in /tmp, and
# a program that pretends to be another build.
from spiletest import *

if os.geteuid() != 0:
    skip("needs root, to be attacked by somebody else")
directory = temporary_directory()
directory.chmod(0o777)
os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
os.environ.pop("XDG_RUNTIME_DIR", None)
nobody = pwd.getpwnam("nobody").pw_uid

# -S: the next name leads elsewhere, is a second name of another file, or a FIFO that nobody reads.
precious = directory / "precious"
ROWS = ('global i probe timer.ms(1) { for (j = 0; j < 100; j++) println("a line of some length to fill files with: ", '
        'i++) if (i > 60000) exit() }')
for what, make in {"symlink": lambda path: path.symlink_to(precious), "link": lambda path: os.link(precious, path),
                   "fifo": os.mkfifo}.items():
    precious.write_text("precious")
    make(directory / f"{what}.1")
    session = Session("-o", directory / what, "-S", "1", "-DMAXACTION=100000", "-e", ROWS)
    wait_until(lambda: session.process.poll() is not None, 30, f"{what}: the end", lambda: session.read(session.err))
    expect(precious.read_text(), "precious", f"{what}: a file of somebody else's")
    expect_match(rf"ERROR: open output file .*{what}.1: ", session.read(session.err), what)

# What is remembered of a program is not believed of another one with its build-id, path, size and time of change.
source = "struct pair {{ long a; long {0}; long {1}; }}; __attribute__((noinline)) long work(struct pair* p) {{ __asm__ volatile(\"\" : : \"r\"(p) : \"memory\"); " \
         "return p->a; }} int main(void) {{ struct pair p = {{ 1, 2, 3 }}; return work(&p) != 1; }}"
program_file = directory / "pair"
for fields, wanted in [(("b", "c"), "2\n"), (("c", "b"), "3\n")]:
    code, made = directory / "pair.c", directory / "made"
    code.write_text(source.format(*fields))
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id=0x1234567890", "-o", made, code], check=True)
    os.utime(made, (1, 1))
    made.rename(program_file)
    spile("-e", 'probe process.function("work") { println($p->b) }', "-c", program_file).expect(out=wanted)

# The folder of procfs files, made by somebody else before.
folder = pathlib.Path(f"/tmp/spile-{nobody}")
if os.path.exists("/dev/fuse") and os.stat("/dev/fuse").st_mode & 0o006 == 0o006 and not folder.exists():
    folder.mkdir()
    try:
        spile("-e", 'probe procfs("x").read { $value = "x" } probe timer.s(1) { exit() }', user="nobody").expect(
            status=1, err_match=f"{folder} is not a folder that you alone can write to")
    finally:
        folder.rmdir()
