// Results, parameters and globals that are narrower than a register: each function changes a global, and returns.
#include <stdbool.h>
#include <stdio.h>

struct numbers { float f; double d; float v[3]; };
struct numbers numbers = {1.5f, 2.5, {1.0f, -2.25f, 1e-42f}};
float ratio = 3.25f;
int calls;

#define APART __attribute__((noipa, noinline))
APART int minus_int(int x) { ++calls; return -x; }
APART short minus_short(short x) { ++calls; return (short)-x; }
APART signed char minus_char(signed char x) { ++calls; return (signed char)-x; }
APART unsigned minus_unsigned(unsigned x) { ++calls; return -x; }
APART unsigned char low_byte(unsigned x) { ++calls; return (unsigned char)x; }
APART bool is_odd(long x) { ++calls; return x & 1; }
APART long minus_long(long x) { ++calls; return -x; }
APART void* address(char* p) { ++calls; return p; }
APART float half(float x, struct numbers* p) {
  ++calls;
  ratio = x * 2;
  return x / 2 + (float)(p->d - 2.5);
}

int main(void) {
  printf("%d %d %d %u %d %d %ld %d", minus_int(5), minus_short(6), minus_char(7), minus_unsigned(1), low_byte(300),
         is_odd(7), minus_long(8), address(0) != 0);
  printf(" %.3f", half(1.5f, &numbers));
  printf(" %.4f %.4f %d", ratio, numbers.f, calls);
  printf(" %d\n", minus_int(-9));
  return 0;
}
