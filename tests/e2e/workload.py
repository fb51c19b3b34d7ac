# -c beside -x: the processes of -x are traced while the command runs, and the run ends with it. The command itself is not traced.
from spiletest import *

target = server(seconds=120)
COUNT = 'global n probe process.function("work") { n++ } probe end { println(target(), " ", n > 0) }'
seen = f"{target.pid} 1\n"
spile("-e", COUNT, "-x", target.pid, "-c", "sleep 1").expect(status=0, out=seen, err="")
spile("-c", "sleep 0.5; exit 0", "-e", COUNT, "-x", target.pid).expect(status=0, out=seen, err="")
# Its output is its own, and the status says that it failed.
spile("-e", COUNT, "-x", target.pid, "-c", "echo from the command; sleep 0.5; exit 3").expect(
    status=1, out=f"from the command\n{seen}", err_match="^WARNING: .*status 3")
spile("-e", 'probe process.begin { println(execname()) }', "-x", target.pid, "-c", "/bin/true").expect(
    status=0, out="server\n")
# It is started when the probes are armed.
spile("-e", 'probe begin { println("begun") } probe process.function("work") { println("armed") exit() }', "-x", target.pid, "-c",
      "sleep 30").expect(status=0, out="begun\narmed\n", err="")

# A run that ends first leaves it to go on, and what can't be started harms nobody.
folder = temporary_directory()
spile("-e", "probe timer.ms(300) { exit() }" + COUNT, "-x", target.pid, "-c",
      f"exec >/dev/null 2>&1; sleep 2; touch {folder}/went_on").expect(status=0, out=seen)
expect_true(not (folder / "went_on").exists(), "the run has ended with its command")
wait_until(lambda: (folder / "went_on").exists(), 30, "the command goes on")
spile("-e", COUNT, "-x", target.pid, "-c", "/nowhere/program").expect(
    status=1, err_match="^spile: .*/nowhere/program: No such file")
expect(target.poll(), None, "the server runs")
# The processes end first.
other = server(seconds=1)
spile("-e", COUNT, "-x", other.pid, "-c", "sleep 20").expect(status=0, out=f"{other.pid} 1\n")
if os.geteuid() == 0:
    spile("--runtime=bpf", "-e", 'global n probe kernel.trace("sched:sched_switch") { if (pid() == target()) n++ } '
          'probe end { println(target(), " ", n > 0) }', "-x", target.pid, "-c", "sleep 1").expect(status=0, out=seen, err="")
