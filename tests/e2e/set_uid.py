# A set-uid program that an ordinary user runs under spile has no more rights than under any other tracer of theirs, and
# spile reports this; under root's spile it has what its file gives.
from spiletest import *

if os.geteuid() != 0:
    skip("making a set-uid program takes root")
directory = temporary_directory()
directory.chmod(0o755)
program_file = directory / "id"
shutil.copy(installed("id"), program_file)
program_file.chmod(0o4755)
nobody = pwd.getpwnam("nobody").pw_uid
become = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
untraced = subprocess.run([*become, program_file, "-u"], capture_output=True, text=True).stdout
SCRIPT = 'global n probe process.begin { n++ } probe end { println(n) }'

result = spile("-e", SCRIPT, "-c", f"{program_file} -u", user="nobody")
expect(result.out, f"{nobody}\n1\n", f"who it is, and how many\n{result}")
expect_match("set-uid or set-gid, and runs without those privileges", result.err)
result = spile("-e", SCRIPT, "-c", f"{' '.join(become)} {program_file} -u")
expect(result.out, f"{untraced}2\n", f"who it is, and how many\n{result}")
expect_true("set-uid" not in result.err or untraced.strip() != "0", f"nothing to warn of\n{result}")

# But it gets nothing of the memory that the session's other processes can write to, nor does what it starts as root.
libc = next(line.split()[-1] for line in open("/proc/self/maps") if "/libc.so.6" in line)
show, change = directory / "cat", directory / "setpriv"
shutil.copy(installed("cat"), show)
shutil.copy(installed("setpriv"), change)
show.chmod(0o4755)
change.chmod(0o4755)
LIBRARY = f'global n probe process("{libc}").function("malloc") {{ n++ }} probe end {{ println(n > 0) }}'
for command, shared in [(f"{installed('cat')} /proc/self/maps", True), (f"{show} /proc/self/maps", False),
                        (f"{change} --reuid=0 {installed('cat')} /proc/self/maps", False)]:
    result = spile("-e", LIBRARY, "-c", f"{' '.join(become)} {command}")
    expect("spile-arena" in result.out, shared, f"memory of the session in {command}\n{result}")
    expect("has privileges of its own" in result.err, not shared, f"a warning of {command}\n{result}")

# Processes of several users share the session's memory: this is said, once, and not where they are of one user.
server = program("server")
SHARED = f'global n probe process("{server}").function("work") {{ n++ }} probe end {{ println(n > 0) }}'
cache = {"XDG_CACHE_HOME": str(temporary_directory())}  # has the users of whom was warned
for second, wanted in [(f"{' '.join(become)} {server} 2", 1), (f"{' '.join(become)} {server} 2", 0), (f"{server} 2", 0)]:
    result = spile("-e", SHARED, "-c", f"sh -c '{server} 2 & {second} & wait'", variables=cache)
    expect(
        len(re.findall(r"^WARNING: process \d+ of user \d+ and process \d+ of user \d+ share memory while spile traces "
                       r"both: .*-x PID", result.err, re.M)), wanted,
           f"warnings\n{result}")
