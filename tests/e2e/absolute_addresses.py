# statement(ADDRESS).absolute of several processes that have the program at different places: the address is that of whichever
# process has code there, and an address that would mean different instructions is an error.
from spiletest import *

folder = temporary_directory()
(folder / "pie.c").write_text("""#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void hit(void) { usleep(2000); }
int main(void) {
  printf("ready %p\\n", (void *)hit);
  fflush(stdout);
  for (;;) hit();
}""")
subprocess.run([installed("gcc"), "-O1", "-g", "-fPIE", "-pie", folder / "pie.c", "-o", folder / "pie"], check=True)
processes = [subprocess.Popen([folder / "pie"], stdout=subprocess.PIPE) for i in range(2)]
try:
    addresses = [int(process.stdout.readline().split()[1], 16) for process in processes]
    if addresses[0] == addresses[1]:
        skip("addresses are not randomized here")
    attach = [word for process in processes for word in ("-x", process.pid)]
    for address in addresses:
        script = f"""global n probe process("{folder}/pie").statement({address:#x}).absolute {{ n[pid()]++ }}
probe timer.ms(20) {{ if (n[{processes[0].pid}] > 3 && n[{processes[1].pid}] > 3) exit() }} 
probe end {{ printf("%d %d\\n", n[{processes[0].pid}] > 3, n[{processes[1].pid}] > 3) }}"""
        spile("-e", script, *attach, "-T", "30").expect(out="1 1\n", err="")
    nowhere = spile("-e", f'probe process("{folder}/pie").statement({addresses[0] - (1 << 30):#x}).absolute {{ }}', *attach)
    nowhere.expect(status=1, err_match="is not in the code of")
finally:
    for process in processes:
        process.kill()
