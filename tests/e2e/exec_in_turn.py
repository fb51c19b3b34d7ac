# A process that executes two programs in turn, only one of which is probed: whichever it runs when spile comes, there is no
# warning that it has not loaded what is probed where its hits are counted; nor of a shell that starts the program. One that never
# does is reported.
from spiletest import *

folder = temporary_directory()
for name, other in [("probed", "plain"), ("plain", "probed")]:
    (folder / f"{name}.c").write_text(f"""#include <unistd.h>
__attribute__((noipa)) void hit(void) {{ usleep(20000); }}
int main(void) {{ hit(); execl("{folder}/{other}", "{other}", (char *)0); return 1; }}""")
    subprocess.run([installed("gcc"), "-O1", "-g", folder / f"{name}.c", "-o", folder / name], check=True)
SCRIPT = f'global n probe process("{folder}/probed").function("hit") {{ if (++n == 5) exit() }} probe end {{ println(n) }}'
process = start(folder / "probed")
for turn in range(12):
    spile("-e", SCRIPT, "-x", process.pid, "-T", "20").expect(status=0, out="5\n", err="")
process.kill()
shell = start(installed("sh"), stdin=subprocess.PIPE)
session = Session("-e", SCRIPT.replace("== 5", "== 1") + ' probe process.begin { println("seen") }', "-x",
                  shell.pid).wait_output("seen")
shell.stdin.write(f"timeout 20 {folder}/probed\n".encode())
shell.stdin.flush()
session.wait().expect(err="")
process = server()
spile("-e", SCRIPT + " probe timer.s(1) { exit() }", "-x", process.pid).expect(
    err_match=rf"^WARNING: process {process.pid} has not loaded ")
