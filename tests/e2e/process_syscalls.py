# process.syscall: each call once, what its arguments are, and what it returns; the same numbers as strace's.
from spiletest import *

strace = shutil.which("strace")
if not strace:
    skip("needs strace")
SCRIPT = r"""global calls, returns
probe process.syscall { calls[$syscall]++ }
probe process.syscall.return { returns[$syscall]++ }
probe end { foreach (n+ in calls) printf("%d %d %d\n", n, calls[n], returns[n]) }"""
command = "sh -c 'for i in 1 2 3; do cat /etc/passwd > /dev/null; done; seq 100 | wc -l > /dev/null; exit 0'"
result = spile("-e", SCRIPT, "-c", command).expect(status=0)
ours = {int(a): (int(b), int(c)) for a, b, c in (line.split() for line in result.out.splitlines())}

with tempfile.NamedTemporaryFile("r") as trace:
    subprocess.run(f"{strace} -f -qq -n -o {trace.name} {command}", shell=True, check=True)
    theirs = {}
    for line in trace.read().splitlines():
        number = re.match(r"\d+ +\[ *(\d+)\] (?!<\.\.\.)", line)
        if number and "ERESTARTNOINTR" not in line:  # a clone that a signal came before: the kernel makes it anew
            theirs[int(number.group(1))] = theirs.get(int(number.group(1)), 0) + 1
theirs[59] -= 1  # the command's own exec comes before its begin
# What depends on how processes race for the pipe and for each other's ends; 15: two SIGCHLD may arrive as one.
racing = {0, 1, 61, 13, 14, 15, 219}
for number in sorted(set(ours) | set(theirs)):
    if number not in racing:
        expect(ours.get(number, (0, 0))[0], theirs.get(number, 0), f"calls of number {number}\n{result}")

expect_match("^openat .*/nowhere/at/all = -2$", spile("-e", r"""probe process.syscall.return {
  if ($syscall == 257) printf("openat %s = %d\n", user_string($arg2), $return) }""", "-c", "cat /nowhere/at/all").out)
spile("-p2", "-e", "probe process.syscall { println($return) }", "-c",
      "/bin/true").expect(status=1, err_match=r"unknown variable '\$return'")
spile("-p2", "-e", "probe process.insn { exit() }", "-c", "/bin/true").expect(status=1, err_match="is not supported")
spile("--runtime=inproc", "-e",
      'probe process("/bin/true").syscall {println(1)}').expect(status=1, err_match="use -c COMMAND or -x PID")
