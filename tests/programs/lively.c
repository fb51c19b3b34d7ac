// lively SECONDS: until then, and until SIGTERM, makes a child, a thread and a signal every few milliseconds, each of which calls
// step() once, as main does 100 times a round. Says "round N" for each, and at the end how many children ended badly.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals, ended;

__attribute__((noinline, noclone)) long step(long arg) {
  __asm__ volatile("" : "+r"(arg));
  return arg + 1;
}

static void on_signal(int number) {
  signals++;
  if (number == SIGTERM) ended = 1;
}

static void* thread(void* argument) { return (void*)step((long)argument); }

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGUSR1, on_signal);
  signal(SIGTERM, on_signal);
  time_t until = time(NULL) + (argc > 1 ? atol(argv[1]) : 10);
  long bad = 0, sum = 0;
  for (long round = 0; !ended && time(NULL) < until; round++) {
    for (long i = 0; i < 100; i++) sum += step(i) - i;
    pid_t child = fork();
    if (child == 0) _exit((int)step(6));
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    bad += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
    pthread_t other;
    void* result = NULL;
    if (pthread_create(&other, NULL, thread, (void*)41L) != 0 || pthread_join(other, &result) != 0 || (long)result != 42) bad++;
    raise(SIGUSR1);
    printf("round %ld\n", round);
    usleep(5000);
  }
  printf("bad %ld signals %d\n", bad, signals > 0);
  return 0;
}
