// jumps N [COPIES]: leaves probed frames by longjmp N times, and calls setjmp, which returns twice, in a probed function; then
// calls mempcpy and memmove, through pointers, COPIES times each.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void* (*volatile copy)(void*, const void*, size_t) = mempcpy;
static void* (*volatile move)(void*, const void*, size_t) = memmove;

static long copies(long n) {
  static char from[4096], to[4097];
  long right = 0;
  for (long i = 0; i < n; i++) {
    size_t size = (size_t)(i * 37 % 4095) + 1;
    from[size - 1] = (char)i;
    int copied = copy(to, from, size) == to + size && to[size - 1] == (char)i;
    right += copied && move(to + 1, to, size) == to + 1 && to[size] == (char)i;
  }
  return right;
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 9, sum = 0;
  for (long i = 0; i < n; i++) sum += landing(i);
  printf("sum %ld\n", sum);
  if (argc > 2) printf("copied %ld\n", copies(atol(argv[2])));
}
