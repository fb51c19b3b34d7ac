# strace, gdb, proot and LeakSanitizer in programs that are traced: they do what they do without spile, with the same output and
# status; what they trace is counted until then, and how many processes were let go is said.
# variants: strace gdb proot attach leaks watched
from spiletest import *

calls = program("calls")
COUNT = f'global c probe process("{calls}").function("foo") {{ c++ }} probe end {{ printf("c %d\\n", c) }}'
RELEASED = r"^WARNING: (\d+) process(es were| was) released before another tracer attached to"


def same(command, script=COUNT, hits=r"c \d+\n", released=True, plain=lambda text: text):
    """As it is untraced, but for what spile adds."""
    wanted = subprocess.run(["/bin/sh", "-c", command_line(command)], capture_output=True, text=True, timeout=300)
    result = spile("-e", script, "-c", command)
    tail = re.search(hits + r"\Z", result.out)
    expect_true(tail, f"no {hits} at the end\n{result}")
    expect(plain(result.out[:tail.start()]), plain(wanted.stdout), f"output of {command}\n{result}")
    mine = [line for line in result.err.splitlines(True) if not re.match(r"WARNING: |Pass 5: run failed", line)]
    expect(plain("".join(mine)), plain(wanted.stderr), f"errors of {command}\n{result}")
    expect(result.status, min(wanted.returncode, 1), f"status of {command}\n{result}")
    if wanted.returncode > 1:
        expect_match(f"WARNING: Child process exited with status {wanted.returncode}$", result.err)
    expect_true(bool(re.search(RELEASED, result.err, re.M)) == released, f"word of {command}\n{result}")
    return result


if VARIANT == "strace":
    strace = installed("strace")
    # Addresses and numbers of processes differ from run to run.
    plain = lambda text: re.sub(r"0x[0-9a-f]+|\d{3,}|^brk.*\n|^mmap.*\n", "N", text, flags=re.M)
    same(f"{strace} -o /dev/null {calls} 100", hits=r"c 0\n")
    same(f"sh -c '{strace} -o /dev/null true'", hits=r"c 0\n")
    same(f"sh -c '{calls} 100; {strace} -f -o /dev/null sh -c \"{calls} 100; {calls} 50; false\"'", hits=r"c 100\n")
    same(f"sh -c '{strace} -e trace=write,exit_group {calls} 100'", hits=r"c 0\n", plain=plain)
    same(f"sh -c '{strace} -c -o /dev/null {calls} 100; exit 3'", hits=r"c 0\n")
elif VARIANT == "gdb":
    gdb = installed("gdb")
    plain = lambda text: re.sub(r"0x[0-9a-f]+|process \d+|Thread.*|.*LWP.*|\[.*\]|warning:.*", "N", text)
    same(f"{gdb} -nx -batch -ex run --args {calls} 100", hits=r"c 0\n", plain=plain)
    same(f"sh -c '{gdb} -nx -batch -ex \"break foo\" -ex run -ex bt -ex kill --args {calls} 100'", hits=r"c 0\n", plain=plain)
elif VARIANT == "proot":
    same(f"sh -c '{installed('proot')} -0 {calls} 100'", hits=r"c 0\n")
elif VARIANT == "attach":
    # strace attaches to a process that is traced already, which goes on with what it has.
    strace = installed("strace")
    server = program("server")
    hit, trace = [temporary_directory() / "file" for _ in range(2)]
    script = f"""global c probe process("{server}").function("work") {{ if (c++ == 1000) system("touch {hit}") }}
        probe end {{ printf("c %d\\n", c > 0) }}"""
    command = (f"sh -c '{server} 60 2 & server=$!; until [ -e {hit} ]; do sleep 0.05; done; "
               f"{strace} -f -o {trace} -p $server & strace=$!; until [ -s {trace} ]; do sleep 0.05; done; "
               f"kill $strace; wait $strace; kill $server; wait $server; echo status $?'")
    result = spile("-e", script, "-c", command)
    result.expect(status=0, out_match=r"wrong 0\b(.|\n)*status 0\nc 1\n\Z", err_match=RELEASED)
elif VARIANT == "leaks":
    for build in ["leaks_gcc_address", "leaks_gcc_leak", "leaks_clang_address", "leaks_clang_leak"]:
        leaks = program(build)
        script = f'global c probe process("{leaks}").function("foo") {{ c++ }} probe end {{ printf("c %d\\n", c) }}'
        plain = lambda text: re.sub(r"0x[0-9a-f]+|==\d+==", "N", text)
        same(leaks, script, hits=r"c 1000\n", plain=plain)
        same(f"{leaks} lose", script, hits=r"c 1000\n", plain=plain)
        same(f"sh -c '{leaks} lose; {leaks}; echo $?'", script, hits=r"c 2000\n", plain=plain)
else:
    # Without probes in the processes, which are traced all the same.
    watch = 'global n probe process.begin, process.end { n++ } probe end { printf("n %d\\n", n > 2) }'
    same(f"sh -c '{installed('strace')} -o /dev/null {calls} 100; {program('leaks_gcc_address')}'", watch, hits=r"n 1\n")
    same(f"sh -c '{program('leaks_clang_leak')} lose'", watch, hits=r"n \d\n",
         plain=lambda text: re.sub(r"0x[0-9a-f]+|==\d+==", "N", text))
