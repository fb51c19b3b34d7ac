// Calls step() ROUNDS times in each of THREADS threads; every call makes one system call, getppid.
// usage: steps ROUNDS [THREADS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long rounds;

__attribute__((noinline)) long step(long number) {
  syscall(SYS_getppid);
  return number + 1;
}

static void* run(void* unused) {
  for (long i = 0; i < rounds;) i = step(i);
  return unused;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 1000;
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  pthread_t* others = calloc((size_t)threads, sizeof *others);
  for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, run, NULL);
  run(NULL);
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
  printf("%ld\n", rounds * threads);
  return 0;
}
