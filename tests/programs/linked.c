// linked N: calls a function of a shared library that it is linked with.
#include <stdio.h>
#include <stdlib.h>

long plugin_step(long arg);

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 100, sum = 0;
  for (long i = 0; i < n; i++) sum += plugin_step(i);
  printf("sum %ld\n", sum);
}
