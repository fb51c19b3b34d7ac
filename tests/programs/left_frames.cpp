// left_frames DEPTH SPREAD THROWS: longjmp leaves DEPTH calls of functions whose frames differ by SPREAD bytes, then an exception
// is thrown and caught near there, THROWS times all that. Prints what has come of it.
#include <alloca.h>
#include <setjmp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

extern "C" {
static unsigned long sum;
static jmp_buf back;
static long spread;

__attribute__((noinline)) int thrower(int n) {
  asm volatile("");
  if (n % 3) return n;
  throw n;
}

__attribute__((noinline)) int descend(int n, int* seen) {
  char* bytes = static_cast<char*>(alloca(64 + n * spread));
  memset(bytes, n, 64);
  *seen += bytes[3];
  if (n == 0) longjmp(back, 7);
  int result = descend(n - 1, seen) + 1;
  asm volatile("");
  return result;
}

__attribute__((noinline)) void jump(int depth) {
  int seen = 0;
  int result = setjmp(back);
  if (result == 0) descend(depth, &seen);
  sum = sum * 29 + result;
}

__attribute__((noinline)) void catches() {
  try {
    thrower(9);
  } catch (int number) {
    sum = sum * 47 + number;
  }
}

__attribute__((noinline)) void rethrows() {
  std::exception_ptr kept;
  try {
    thrower(9);
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (int number) {
    sum = sum * 43 + number;
  }
}
}

int main(int, char** arguments) {
  int depth = atoi(arguments[1]), throws = atoi(arguments[3]);
  spread = atol(arguments[2]);
  for (int i = 0; i < throws; i++) {
    jump(depth);
    catches();
    jump(depth);
    rethrows();
  }
  printf("sum %lx\n", sum);
}
