// trap: what an in-process breakpoint costs, the way that debuggers inside a process do it: int3, SIGTRAP, a handler
// that counts, and return. Prints ns a hit.
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile long hits;
static void on_trap(int signal) { hits++; }

int main(void) {
  signal(SIGTRAP, on_trap);
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < 100000; i++) __asm__ volatile("int3");
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.1f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (double)hits);
}
