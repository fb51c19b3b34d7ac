// executes TIMES THREADS: calls foo() and starts THREADS threads, each of which calls foo() once and stays; then another thread, which
// executes this program with TIMES - 1. When no time is left it says "done".
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t called;
static char **arguments;

__attribute__((noinline, noclone, used)) long foo(long arg) {
  __asm__ volatile("");
  return arg + 1;
}

static void *call(void *number) {
  foo((long)number);
  sem_post(&called);
  for (;;) pause();
}

static void *execute(void *unused) {
  (void)unused;
  execv("/proc/self/exe", arguments);
  _exit(99);
}

int main(int count, char **given) {
  (void)count;
  int times = atoi(given[1]);
  if (times == 0) return puts("done"), 0;
  char left[16];
  snprintf(left, sizeof left, "%d", times - 1);
  arguments = (char *[]){given[0], left, given[2], NULL};
  int threads = atoi(given[2]);
  sem_init(&called, 0, 0);
  pthread_t thread;
  foo(-1);
  for (long i = 0; i < threads; i++) {
    if (pthread_create(&thread, NULL, call, (void *)i) != 0) return 98;
  }
  for (int i = 0; i < threads; i++) sem_wait(&called);
  pthread_create(&thread, NULL, execute, NULL);
  pthread_join(thread, NULL);
  return 97;
}
