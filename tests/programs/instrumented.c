// Built with -finstrument-functions: each function reads its own return address, for hooks that here expect a caller
// in the program.
#include <stdio.h>
#include <stdlib.h>

#define WITHOUT __attribute__((no_instrument_function))
#define KEPT __attribute__((noinline))

extern char __executable_start, etext;
static long entered, left, strange;

WITHOUT static void look(void* caller) { strange += (char*)caller < &__executable_start || (char*)caller > &etext; }
WITHOUT KEPT void __cyg_profile_func_enter(void* function, void* caller) { entered++; if (function != (void*)&exit) look(caller); }
WITHOUT KEPT void __cyg_profile_func_exit(void* function, void* caller) { left++; if (function != (void*)&exit) look(caller); }

KEPT int work(int x) { return 3 * x + 1; }
KEPT int more(int x) { return work(x) + work(x + 1); }
WITHOUT KEPT int plain(int x) { return x - 1; }
WITHOUT int main(int count, char** arguments) {
  int calls = count > 1 ? atoi(arguments[1]) : 100, sum = 0;
  for (int i = 0; i < calls; i++) sum += more(i) + plain(i);
  printf("sum %d hooks %ld %ld strange %ld\n", sum, entered, left, strange);
  return 0;
}
