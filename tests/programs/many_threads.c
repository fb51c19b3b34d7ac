// many_threads THREADS CALLS [PAUSE_MS | signal]: so many threads at once; each calls `step` CALLS times after all are born and
// PAUSE_MS later (or a SIGUSR1 later), and once more when all have. Prints the number of calls.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static pthread_barrier_t barrier;
static long calls, sum;

PROBED long step(long value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}
static void* run(void* unused) {
  pthread_barrier_wait(&barrier);
  long done = 0;
  for (long i = 0; i < calls; i++) done += step(i) > 0;
  pthread_barrier_wait(&barrier);
  done += step(0) > 0;
  __atomic_fetch_add(&sum, done, __ATOMIC_RELAXED);
  return unused;
}

int main(int count, char** words) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &awaited, 0);
  long threads = atol(words[1]);
  calls = atol(words[2]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_barrier_init(&barrier, 0, threads + 1);
  pthread_t* all = malloc(threads * sizeof *all);
  for (long i = 0; i < threads; i++) {
    if (pthread_create(&all[i], &attributes, run, 0)) {
      perror("pthread_create");
      return 1;
    }
  }
  printf("born\n");
  fflush(stdout);
  int signal;
  if (count > 3 && !strcmp(words[3], "signal")) sigwait(&awaited, &signal);
  else if (count > 3) usleep(atol(words[3]) * 1000);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  for (long i = 0; i < threads; i++) pthread_join(all[i], 0);
  printf("calls %ld\n", sum);
  return 0;
}
