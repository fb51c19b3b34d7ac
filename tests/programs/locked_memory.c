// locked_memory WHEN SECONDS: locks all memory it has and will have, with WHEN `first` before it prints "ready", with `later` one
// second after; calls `work` all the time. At SIGTERM, or after so long, prints how often.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static void stop(int signal) { stopped = 1; }
__attribute__((noinline, noclone, used)) long work(long value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}
static void lock(void) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) perror("mlockall");
}

int main(int count, char** words) {
  signal(SIGTERM, stop);
  if (!strcmp(words[1], "first")) lock();
  printf("ready\n");
  fflush(stdout);
  long calls = 0, ticks = atol(words[2]) * 100;
  for (long tick = 0; tick < ticks && !stopped; tick++) {
    if (tick == 100 && !strcmp(words[1], "later")) lock();
    for (int i = 0; i < 100; i++) calls += work(i) > 0;
    usleep(10000);
  }
  printf("calls %ld\n", calls);
  return 0;
}
