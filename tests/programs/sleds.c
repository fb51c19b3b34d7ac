// Built with -fxray-instrument: each function begins with bytes that are written over when XRay is turned on.
#include <stdio.h>

#define SLED __attribute__((noinline, xray_always_instrument))

#define KEEP __asm__ volatile("" ::: "memory")
SLED int leaf(int x) { KEEP; return x * 3 + 1; }
SLED int looped(int n) {
  int sum = 0;
  do sum += leaf(n);
  while (--n > 0);
  return sum;
}
SLED int factorial(int n) { KEEP; return n < 2 ? 1 : factorial(n - 1) * n + leaf(n); }

int main(void) {
  long sum = 0;
  for (int i = 0; i < 100; i++) sum += leaf(i) + looped(5) + factorial(6);
  printf("%ld\n", sum);
  return 0;
}
