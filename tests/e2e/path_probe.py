# process("PATH") names the program of the function; with -x and -c the processes stay the ones given.
from spiletest import *

path = program("calls")
other = server(seconds=30)
spile("-e", f'global c probe process("{path}").function("foo") {{ c++ }} probe end {{ printf("c %d\\n", c) }}',
      "-c", f"{path} 1000", "-o", "/dev/stderr").expect(err="c 1000\n", status=0)
expect_untouched(other.pid)

# Wildcards: by what lies in the real directory, whatever links lead there, and by PATH.
folder = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, folder)
programs = pathlib.Path(path).parent
os.symlink(programs, folder / "link")
os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
for pattern in f"{programs}/call?", f"{folder}/link/call?", f"{folder}/*/call?", "call?", "[c]alls", path, "calls":
    for point in "begin", 'function("foo")', "end":
        result = spile("-e", f'global n probe process("{pattern}").{point} {{ n++ }} probe end {{ println(n) }}', "-c",
                       f"{path} 1")
        # The wildcard is before the link: a program's real path, by which it is known when it runs, has none.
        wanted = 0 if pattern == f"{folder}/*/call?" and point in ("begin", "end") else 1
        expect(result.expect(status=0).out.split()[-1], str(wanted), f"{pattern} {point}")
spile("-e", 'probe process("no_such_?").function("main") {}', "-c", path).expect(err_match="no program matches", status=1)
