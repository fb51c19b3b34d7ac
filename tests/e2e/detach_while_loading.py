# A program that loads and unloads a library all the time is left as it was: nothing is armed for a library that comes while spile
# leaves, and a thread that is led out of a handler step by step keeps no trap flag (it would die of SIGTRAP).
from spiletest import *

folder = temporary_directory()
(folder / "library.c").write_text("int in_library(void) { return 1; }\n")
(folder / "loads.c").write_text(r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void loaded(void) { __asm__ volatile(""); }
int main(void) {
  puts("ready"), fflush(stdout);
  for (int i = 0; i < 2000000; i++) {
    void *library = dlopen("./library.so", RTLD_NOW);
    loaded();
    dlclose(library);
    if (i % 4 == 0) usleep(100);
  }
}
""")
subprocess.run("gcc -shared -fPIC -o library.so library.c && gcc -O1 -o loads loads.c", shell=True, check=True, cwd=folder)
target = start(folder / "loads", ready="ready", cwd=folder, start_new_session=True)
for turn in range(6):
    for point in ["process.syscall", 'process.function("loaded").return']:
        spile("-e", f"global n probe {point} {{ n++ }} probe timer.ms(300) {{ exit() }} probe end {{ println(n) }}", "-x",
              target.pid).expect(status=0, out_match=r"^\d+$")
        expect_true(target.poll() is None, f"{point}: the program goes on, and is not {target.poll()}")
        target.send_signal(signal.SIGSTOP)  # what is mapped must not go while it is read
        wait_state(target.pid, "T")
        expect_untouched(target.pid)
        target.send_signal(signal.SIGCONT)
