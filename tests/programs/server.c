// server SECONDS [THREADS]: calls work(i) in a loop until SECONDS have passed or SIGTERM comes, one line "ready" at
// the start, at the end the number of calls made and whether every one returned what it should. To attach to.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static volatile sig_atomic_t stop;
static void on_term(int signal) { stop = 1; }

PROBED long work(long arg, long turn) { return arg * 2 + turn; }

struct share {
  long calls, wrong;
};

static void* run(void* data) {
  struct share* share = data;
  for (long i = 0; !stop; i++) {
    if (work(i, 7) != i * 2 + 7) share->wrong++;
    share->calls++;
    if ((i & 0xfff) == 0) usleep(100);  // leave processor time to others
  }
  return NULL;
}

int main(int argc, char** argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10, threads = argc > 2 ? atoi(argv[2]) : 1;
  signal(SIGTERM, on_term);
  signal(SIGALRM, on_term);
  alarm(seconds);
  puts("ready");
  fflush(stdout);
  pthread_t thread[16];
  static struct share share[16];
  for (int i = 0; i < threads && i < 16; i++) pthread_create(&thread[i], NULL, run, &share[i]);
  long calls = 0, wrong = 0;
  for (int i = 0; i < threads && i < 16; i++) {
    pthread_join(thread[i], NULL);
    calls += share[i].calls;
    wrong += share[i].wrong;
  }
  printf("calls %ld wrong %ld\n", calls, wrong);
  return wrong != 0;
}
