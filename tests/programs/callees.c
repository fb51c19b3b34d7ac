// callees N: functions that call each other in chains, which `callee` and `callees` distinguish. Prints how often each was
// called, and how often by whom.
#include <stdio.h>
#include <stdlib.h>

#ifndef PROBED
#define PROBED __attribute__((noipa))
#endif

long calls_leaf, calls_middle, calls_other, calls_first, calls_again, calls_jumped;

PROBED long leaf(long x) {
  calls_leaf++;
  return x * 3;
}
PROBED long middle(long x, int deep) {
  calls_middle++;
  return leaf(x) + (deep ? leaf(x + 1) : 0);
}
PROBED long jumped(long x) {
  calls_jumped++;
  return leaf(x) + 1;
}
// Ends in a jump.
PROBED long jumps(long x) { return jumped(x + 1); }
PROBED long other(long x) {
  calls_other++;
  return middle(x, 0) - leaf(x);
}
PROBED long again(long x) {
  calls_again++;
  return x <= 0 ? 1 : again(x - 1) / 2 + leaf(x);
}
PROBED long first(long x) {
  calls_first++;
  return middle(x, x % 2) + jumps(x) + again(x % 4) + other(x);
}
int main(int count, char** words) {
  long n = atol(words[1]), sum = 0;
  for (long i = 0; i < n; i++) {
    sum += first(i);
    sum += middle(i, 1) + leaf(i) + jumps(i) + again(1);
  }
  printf("sum %ld leaf %ld middle %ld other %ld first %ld again %ld jumped %ld\n", sum, calls_leaf, calls_middle, calls_other,
         calls_first, calls_again, calls_jumped);
  return 0;
}
