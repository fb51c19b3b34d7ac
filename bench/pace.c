// Calls work() so many times a millisecond, for bench/permanent.py.
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone)) void work(long i) { __asm__ volatile("" ::"r"(i)); }

int main(int argc, char** argv) {
  long calls = argc > 1 ? atol(argv[1]) : 1;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (;;) {
    for (long i = 0; i < calls; i++) work(i);
    next.tv_nsec += 1000000;
    if (next.tv_nsec >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
  }
}
