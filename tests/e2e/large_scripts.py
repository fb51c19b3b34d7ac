# Scripts of thousands of functions, globals, probes and statements: the time to compile grows about as they do, nothing overflows
# a stack, and -T and Ctrl-C end a compilation.
import resource

from spiletest import *

folder = temporary_directory()
os.environ["XDG_CACHE_HOME"] = str(folder / "cache")


def chain(n):
    return "".join(f"function f{i}:long(x:long) {{ return f{i + 1}(x + 1) }}\n" for i in range(n - 1)) + (
        f"function f{n - 1}:long(x:long) {{ return x }}\nprobe begin {{ println(f0(1)) exit() }}")


def untyped(n):
    return "".join(f"function f{i}(x) {{ return f{i + 1}(x) }}\n" for i in range(n - 1)) + (
        f"function f{n - 1}(x) {{ return x . \"\" }}\nprobe begin {{ println(f0(\"typed\")) exit() }}")


def ring(n):
    return "".join(f"function f{i}:long(x:long) {{ if (x <= 0) return {i}; return f{(i + 1) % n}(x - 1) }}\n" for i in range(n)) + (
        "probe begin { println(f0(5)) exit() }")


def many_globals(n):
    return "".join(f"global g{i}\n" for i in range(n)) + "probe begin {\n" + "".join(f"g{i} = {i}; g{i}++\n" for i in range(n)) + (
        f"println(g{n - 1}) exit() }}\n")


def many_aliases(n):
    return "".join(f"probe a{i} = begin {{ v = {i} }}\n" for i in range(n)) + "".join(
        f"probe a{i} {{ if (v == {n - 1}) println(v) }}\n" for i in range(n)) + "probe begin { exit() }"


def seconds(make, n, out):
    script = folder / "script.stp"
    script.write_text(make(n))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    spile("-w", "-D", "MAXACTION=10000000", "-D", "MAXNESTING=1000", script, timeout=170).expect(status=0, out_match=out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


for make, n, out in [(chain, 2000, r"^\d+$"), (untyped, 2000, "^typed$"), (ring, 1000, "^5$"), (many_globals, 400, r"^\d+$"),
                     (many_aliases, 300, r"^\d+$")]:
    small, large = seconds(make, n, out), seconds(make, 4 * n, out)
    print(f"{make.__name__}: {n} in {small:.2f} s, {4 * n} in {large:.2f} s of processor time")
    expect_true(large < 7 * small + 0.5, f"{make.__name__}: {4 * n} take {large:.2f} s, and {n} {small:.2f} s")

# The time of -T counts while the script is compiled, and Ctrl-C ends that.
script = folder / "script.stp"
script.write_text(ring(20000))
begin = time.monotonic()
spile("-w", "-T", "1", script).expect(status=1, err_match="-T was over before the script was compiled")
expect_true(time.monotonic() - begin < 10, "-T ends a compilation")
session = Session("-w", script)
time.sleep(1)
expect(session.stop(timeout=10).status, -signal.SIGINT, "status after Ctrl-C")
