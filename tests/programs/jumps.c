// jumps N: leaves probed frames by longjmp N times, and calls setjmp, which returns twice, in a probed function.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define PROBED __attribute__((noinline, noclone, used))

static jmp_buf back;
volatile long sink;

PROBED long jumper(long arg) {
  sink = arg;
  if (arg % 3 == 0) longjmp(back, 1);
  return arg;
}

PROBED long through(long arg) { return jumper(arg) + 1; }

PROBED long landing(long arg) {
  if (setjmp(back)) return -1;
  return through(arg);
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 9, sum = 0;
  for (long i = 0; i < n; i++) sum += landing(i);
  printf("sum %ld\n", sum);
}
