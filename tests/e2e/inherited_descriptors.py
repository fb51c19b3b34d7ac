# The command and what system() runs have the descriptors that they would have without spile, whatever the script asks for and
# writes.
from spiletest import *

folder = temporary_directory()
listing = "/bin/ls /proc/self/fd"
alone = ["0", "1", "2", "3"]  # 3 is that of the folder


def listed(run):
    return [line for line in run.out.split() if line.isdigit()]


scripts = ["probe begin {}", "probe process.syscall {}", "probe process.begin {}", "probe process.end {}",
           "probe syscall.openat, syscall.read.return {}"]
if os.geteuid() == 0:
    scripts += ['probe kernel.trace("sched:sched_process_exec") {}',
                'global n probe process.syscall { n++ } probe kernel.trace("sched:sched_process_exec") { n++ }',
                "probe timer.profile { t[ubacktrace()]++ } global t"]
for script in scripts:
    for options in [[], ["-o", str(folder / "out")]]:
        run = spile("-e", script + " probe begin {}", *options, "-c", f"{listing} >{folder}/listing")
        expect((script, options, run.status), (script, options, 0), "status")
        expect((script, options, (folder / "listing").read_text().split()), (script, options, alone), "descriptors")
    expect((script, listed(spile("-e", script + f' probe begin {{ system("{listing}") }}', "-c", "sleep 0.3"))), (script, alone),
           "descriptors of system()")
