# Threads and children that end at once, some between the moment when they are found and the one when sampling them begins: that
# is no reason for a warning.
# long
from spiletest import *

folder = temporary_directory()
(folder / "ends.c").write_text("""#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *unused) { return unused; }
static void *work(void *unused) {
  for (;;) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, nothing, 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
  }
}
int main(void) {
  puts("ready");
  fflush(stdout);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
  for (;;) {
    if (fork() == 0) _exit(0);
    wait(0);
  }
}""")
subprocess.run([installed("gcc"), "-O1", folder / "ends.c", "-o", folder / "ends", "-lpthread"], check=True)
process = start(folder / "ends", ready="ready")
for turn in range(20):
    spile("-e", "global n probe timer.profile { if (++n == 5) exit() } probe end { println(n >= 5) }", "-x", process.pid, "-T", "60").expect(out="1\n", err="")
process.kill()
