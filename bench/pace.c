// Calls work() so many times a millisecond, for bench/permanent.py. work() has room for a jump: one of a single `ret` is probed by a breakpoint where the neighbors' addresses, which
// change from run to run, leave no other way, and then costs both sides a hundred times as much.
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone, aligned(64))) long work(long i) {
  __asm__ volatile("" : "+r"(i));
  return i * 3 + 7;
}

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
