// cancels N: starts N threads one after another that call work() all the time and may be cancelled at any instruction, and
// cancels each some time after its first call; then calls work() 1000 times itself. Prints how many were cancelled and how many calls went wrong.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static volatile long sink, wrong;
static volatile int called;

PROBED long work(long arg, long turn) {
  sink = arg;
  return arg * 2 + turn;
}

static void* run(void* unused) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (long i = 0;; i++) {
    if (work(i, 7) != i * 2 + 7) wrong++;
    called = 1;
  }
  return NULL;
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, cancelled = 0;
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    void* result = NULL;
    called = 0;
    if (pthread_create(&thread, NULL, run, NULL)) return 1;
    while (!called) usleep(100);
    usleep((useconds_t)(500 + i * 37 % 1000));
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  for (long i = 0; i < 1000; i++) {
    if (work(i, 1) != i * 2 + 1) wrong++;
  }
  printf("cancelled %d wrong %ld\n", cancelled, wrong);
  return wrong != 0;
}
