// Stacks of every kind: through a library's callback, a signal handler on a stack of its own, a forked child, a frame of
// variable size. No function keeps a frame pointer.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;
KEEP void leaf(long n) { sink += n; }
KEEP void plain(long n) { leaf(n); sink++; }
KEEP void sized(long n) {
  volatile char bytes[n + 100];
  bytes[0] = 1;
  plain(n);
  sink += bytes[0];
}
KEEP int compare(const void* a, const void* b) {
  leaf(2);
  return *(const int*)a - *(const int*)b;
}
KEEP void sorted(void) {
  int two[2] = {2, 1};
  qsort(two, 2, sizeof two[0], compare);
  sink++;
}
KEEP void on_signal(int number) { leaf(3); sink++; }
KEEP void raised(void) { raise(SIGUSR1); sink++; }
KEEP void deep(long n) {
  if (n == 0) leaf(4);
  else deep(n - 1);
  sink++;
}
KEEP void never(void) { leaf(6); _exit(0); }  // the call of _exit is its last instruction

int main(void) {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  plain(0);
  sized(1);
  sorted();
  raised();
  deep(30);
  if (fork() == 0) {
    plain(5);
    _exit(0);
  }
  wait(NULL);
  never();
}
