// Built with -fsanitize=kcfi and with -fsanitize=cfi: indirect calls are checked, direct ones are not.
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline))

KEPT int twice(int x) { return 2 * x; }
KEPT int thrice(int x) { return 3 * x; }
KEPT static int fourth(int x) { return 4 * x; }
KEPT int never_taken(int x) { return twice(x) - 1; }

int (*volatile table[3])(int);

int main(int count, char** arguments) {
  int calls = count > 1 ? atoi(arguments[1]) : 300, sum = 0;
  table[0] = twice, table[1] = thrice, table[2] = fourth;
  for (int i = 0; i < calls; i++) sum += table[i % 3](i) + never_taken(i);
  printf("%d\n", sum);
  return 0;
}
