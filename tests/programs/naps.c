// Sleeps in the midst of stacks of several kinds, N times each: in a function called from a library's callback, and in a signal handler on a
// stack of its own. No function keeps a frame pointer.
//   naps N
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;
KEEP void nap(long n) {
  struct timespec short_time = {0, 2000000};
  nanosleep(&short_time, NULL);
  sink += n;
}
KEEP void sized(long n) {
  volatile char bytes[n + 100];
  bytes[0] = 1;
  nap(n);
  sink += bytes[0];
}
KEEP int compare(const void* a, const void* b) {
  sized(30);
  return *(const int*)a - *(const int*)b;
}
KEEP void sorted(void) {
  int two[2] = {2, 1};
  qsort(two, 2, sizeof two[0], compare);
  sink++;
}
KEEP void on_signal(int number) { nap(3); sink++; }
KEEP void raised(void) { raise(SIGUSR1); sink++; }

int main(int argc, char** argv) {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (long i = 0, n = argc > 1 ? atol(argv[1]) : 1; i < n; i++) {
    sorted();
    raised();
  }
}
