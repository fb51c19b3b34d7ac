// toggles N [THREADS]: N rounds of a system call (getppid) and ten calls of work(); then THREADS threads that call work()
// until a line comes on standard input. Prints how often they did.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

PROBED long work(long arg) {
  static _Thread_local volatile long sink;
  sink = arg;
  return arg + 1;
}

static volatile int stop;

static void* run(void* data) {
  long n = 0;
  while (!stop) work(n++);
  *(long*)data = n;
  return NULL;
}

int main(int argc, char** argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 10, threads = argc > 2 ? atol(argv[2]) : 0, sum = 0;
  for (long i = 0; i < rounds; i++) {
    syscall(SYS_getppid);
    for (long j = 0; j < 10; j++) work(j);
  }
  pthread_t all[64];
  long counts[64];
  for (long i = 0; i < threads && i < 64; i++) pthread_create(&all[i], NULL, run, &counts[i]);
  if (threads) getchar();
  stop = 1;
  for (long i = 0; i < threads && i < 64; i++) {
    pthread_join(all[i], NULL);
    sum += counts[i];
  }
  printf("calls %ld\n", rounds * 10 + sum);
}
