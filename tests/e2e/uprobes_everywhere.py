# Without -x and -c: places of a program, in every process that executes that very file. Each variant has a copy of the program of
# its own, so that it probes nobody else.
# variants: processes namespaces replaced many semaphores registers
from spiletest import *

if os.geteuid() != 0:
    skip("needs root; the virtual machine's tests cover it")
directory = temporary_directory()


def copy(name):
    return shutil.copy(program(name), directory / name)


def everywhere(script, *options):
    """spile, once all is armed: its timers begin then."""
    session = Session("-v", *options, "-e", script + ' global ticks probe timer.ms(20) { if (!ticks++) println("armed") }')
    if "load eBPF programs" in session.read(session.err):
        skip(session.read(session.err).strip())
    return session.wait_output("^armed$")


def run(*command):
    expect(subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL).returncode, 0, f"{command}")


if VARIANT == "processes":
    # Running already, started later, two at a time; entries and returns.
    path = copy("server")
    old = start(path, 60, 1, ready="ready")
    session = everywhere(f"""global c, r, seen
        probe process("{path}").function("work") {{ c[pid()]++ }} probe process("{path}").function("work").return {{ r[pid()]++ }}
        probe timer.ms(20) {{ foreach (p in c) if (c[p] > 100 && r[p] > 100 && !seen[p]++) printf("seen %d\\n", p) }}""")
    session.wait_output(rf"^seen {old.pid}$")
    new = start(path, 60, 1, ready="ready")
    session.wait_output(rf"^seen {new.pid}$")
    session.stop().expect(status=0)
    expect_match(r"^calls \d+ wrong 0$", finish(new), "what the program computes")

if VARIANT == "namespaces":
    if subprocess.run(["unshare", "-mp", "--fork", "true"], capture_output=True).returncode:
        skip("needs leave to make namespaces")
    path = copy("calls")
    (directory / "there").mkdir()
    session = everywhere(f"""global c probe process("{path}").function("foo") {{ c++ }} probe end {{ println(c) }}""")
    run("unshare", "-mp", "--fork", path, 100)
    # Another name of the file, in a mount namespace of its own; a copy is another file.
    run("unshare", "-m", "--propagation", "private", "sh", "-c",
        f"mount --bind {directory} {directory}/there && exec {directory}/there/calls 20")
    other = temporary_directory()
    shutil.copy(path, other)
    run(f"{other}/calls", 1000)
    session.stop().expect(out_match="^120$")

if VARIANT == "registers":
    # Handlers in the kernel have the general registers.
    (directory / "half.c").write_text("""__attribute__((noinline)) double half(double x, int n) { asm volatile("" : : : "memory");
      return x / n; }
int main(int argc, char **argv) { return half(3, argc) == 4; }
""")
    run("gcc", "-g", "-O1", "-o", directory / "half", directory / "half.c")
    session = everywhere(f"""probe process("{directory}/half").function("half") {{ println($$parms, " ", @defined($x), """
                         f"""" ", $n) }}""")
    run(directory / "half")
    session.wait_output("^x=\\? n=0x1 0 1$")
    session.stop().expect(status=0)
    for wrong in f'function("half") {{ println($x) }}', f'function("half").return {{ println($return) }}':
        spile("-e", f'probe process("{directory}/half").{wrong}').expect(
            status=1, err_match="is in a floating-point or vector register here, which handlers in the kernel can't read")

if VARIANT == "replaced":
    # A file that takes the path later is another one.
    path = copy("calls")
    session = everywhere(f"""global c probe process("{path}").function("foo") {{ c++ }} probe end {{ println(c) }}""")
    run(path, 100)
    os.rename(path, directory / "old")
    copy("calls")
    run(path, 1000)
    run(directory / "old", 10)
    session.stop().expect(out_match="^110$")

if VARIANT == "many":
    # One link for all functions of a program: on and off at once.
    path = copy("calls")
    session = everywhere(f"""global c probe process("{path}").function("*").call {{ c[probefunc()]++ }} """
                         f"""probe end {{ printf("%d %d\\n", c["foo"], c["fibonacci"]) }}""")
    messages = session.read(session.err)
    if "uprobe.multi" in messages:
        expect_true(" uprobe at " not in messages, "every place has its part of a link")
    run(path, 1000)
    session.stop().expect(out_match="^1000 1973$")

if VARIANT == "semaphores":
    # The program comes to its mark only while a semaphore is raised.
    path = copy("values")
    session = everywhere(f"""global c, s probe process("{path}").mark("step") {{ c++; s += $arg2 }} """
                         f"""probe end {{ printf("%d %d\\n", c, s) }}""")
    expect_match("semaphore at ", session.read(session.err), "messages")
    run(path)
    session.stop().expect(out_match=r"^3 -?\d+$")
    result = spile("--runtime=bpf", "-e", f'global c probe process.mark("step") {{ c++ }} probe end {{ println(c) }}', "-c", path)
    result.expect(out_match="^3$", status=0)
