// Functions that look at their own return addresses, on one of their paths only: behind a return, in a switch, behind many
// instructions, by a tail call. Each address that is not in the program is strange. Says how often they were called.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline))

extern char __executable_start, etext;
static long strange;
static void* const none = &etext - 1;
static inline __attribute__((always_inline)) void* caller(void) { return __builtin_return_address(0); }

KEPT void look(void* address) { strange += (char*)address < &__executable_start || (char*)address > &etext; }
KEPT void* direct(void) { return caller(); }
KEPT void* branch(int x) {
  if (!x) return none;
  return caller();
}
KEPT void* early(int x, int* y) {
  if (x < 0) return *y = 3, none;
  if (x == 1) return *y = 4, none;
  *y = 5;
  return caller();
}
KEPT void* cases(int x, int* y) {
  switch (x) {
    case 0: *y = direct() != 0; return none;
    case 1: *y += 2; break;
    case 2: *y *= 3; return caller();
    case 3: *y -= 7; printf("%s", ""); break;
    case 4: *y ^= 9; return caller();
    case 5: *y = abs(*y); break;
    case 6: *y |= 1; return direct();
  }
  return none;
}
#define STEPS *v += 3; *v ^= 7; *v *= 5; *v -= 1;
#define MORE_STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
KEPT void* many(volatile int* v) {
  MORE_STEPS MORE_STEPS MORE_STEPS MORE_STEPS MORE_STEPS
  return caller();
}
KEPT void* tail(int x) { return x & 1 ? direct() : branch(x); }
KEPT void* seldom(int x) {
  if (__builtin_expect(x == 3, 0)) {
    look(none);
    return caller();
  }
  return none;
}
KEPT void* large(int x) {
  volatile char bytes[30000];
  bytes[x] = 1;
  bytes[x + 5000] = x;
  if (bytes[x + 5000] == 9) return none;
  return caller();
}
KEPT void* variable(int x) {
  volatile char* bytes = __builtin_alloca(x * 10 + 5);
  bytes[x] = 1;
  return x > 3 ? caller() : none;
}
// The dynamic linker looks for what comes behind the library of its caller.
KEPT void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

// These have returns.
KEPT int plain(int x) {
  char bytes[20000];
  memset(bytes, x, sizeof bytes);
  return bytes[x & 63] + x;
}
KEPT int looped(int x) {
  int sum = 0;
  while (x-- > 0) sum += x;
  return sum;
}
KEPT int chosen(int x) {
  switch (x) {
    case 0: return plain(1);
    case 1: return looped(3) + 1;
    case 2: return x * plain(4);
    case 3: return 17;
    case 4: return looped(x) - plain(x);
    case 5: return -x;
  }
  return x;
}

int main(void) {
  int y = 1;
  volatile int v = 1;
  long sum = 0;
  for (int i = 0; i < 20; i++) {
    look(direct()), look(branch(i & 1)), look(early(i % 3 - 1, &y)), look(cases(i % 8, &y)), look(many(&v)), look(tail(i));
    look(seldom(i)), look(large(i)), look(variable(i));
    sum += plain(i) + looped(i) + chosen(i % 7);
    if (!next("malloc")) strange += 1000;
  }
  printf("y %d v %d sum %ld strange %ld\n", y, v, sum, strange);
  return 0;
}
