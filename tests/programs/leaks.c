// leaks [WORD]: calls foo() 1000 times; with WORD it loses 77 bytes, which LeakSanitizer finds when it ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noclone)) long foo(long arg) {
  __asm__ volatile("" : "+r"(arg));
  return arg + 1;
}

int main(int argc, char** argv) {
  long sum = 0;
  for (long i = 0; i < 1000; i++) sum = foo(sum);
  char* volatile lost = malloc(77);
  memset(lost, 1, 77);
  if (argc > 1) {
    lost = NULL;
  } else {
    free(lost);
  }
  printf("sum %ld\n", sum);
  fflush(stdout);
  return 0;
}
