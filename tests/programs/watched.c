// watched N: N writes to `counter` and `small` from two functions, N reads of `counter`; then some processor time in hot().
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone, noipa))

volatile long counter;
volatile int small = 1, neighbor;
KEEP void first(long n) { counter = n; }
KEEP void second(long n) { small = (int)n; neighbor++; }
KEEP long reads(void) { return counter; }
KEEP void hot(long turns) {
  for (volatile long i = 0; i < turns; i++) {
  }
}
KEEP void caller(long turns) { hot(turns); }

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;
  for (long i = 0; i < n; i++) {
    first(i);
    second(i);
    sum += reads();
  }
  if (argc > 2) caller(atol(argv[2]));
  printf("%ld\n", sum);
}
