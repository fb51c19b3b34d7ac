// A parameter and a local variable of each kind: in registers, in pieces of structures, on the stack, computed, inlined, of all widths. It does the same each
// time, so that tools/torture/values_like_gdb.py can compare what spile and gdb read.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum color { RED = 1, GREEN = 2, BLUE = -3 };
struct small {
  int a, b;
};
struct mixed {
  double d;
  int i;
};
struct two_d {
  double x, y;
};
struct big {
  long a[6];
};
struct bits {
  unsigned a : 3;
  int b : 5;
  unsigned long c : 40;
  bool d : 1;
};
union u {
  int i;
  float f;
};
static int counter;
static double total;
int shared[8];
static const char* last;
__thread int tls_count;
#define NOINLINE __attribute__((noinline))
NOINLINE int take_small(struct small s, int k) {
  int t = s.a * k;
  t += s.b;
  counter += t;
  return t;
}
NOINLINE double take_mixed(struct mixed m, float f, long double ld) {
  double t = m.d * f;
  t += m.i;
  total += t + (double)ld;
  return t;
}
NOINLINE double take_two(struct two_d p, struct big b, int many, int a4, int a5, int a6, int a7, int a8) {
  double q = p.x * p.y + many + a4 * a5 - a6 + a7 * a8;
  for (int i = 0; i < 6; i++) {
    long e = b.a[i];
    q += e;
  }
  return q;
}
NOINLINE struct big make_big(int n) {
  struct big b;
  for (int i = 0; i < 6; i++) b.a[i] = (long)n * i;
  return b;
}
NOINLINE struct small make_small(int n) {
  struct small s = {n, n + 1};
  return s;
}
NOINLINE int take_bits(struct bits b, enum color c, union u u) {
  int s = b.a + b.b + (int)b.c + b.d;
  if (c == BLUE) s = -s;
  s ^= u.i;
  shared[s & 7]++;
  return s;
}
static inline int inner(int x, int y) {
  int z = x * y;
  z ^= x << 3;
  return z + y;
}
static inline long outer(int n, short h, unsigned char c, signed char sc) {
  long acc = 0;
  for (int i = 0; i < n; i++) {
    int p = inner(i, h);
    acc += p;
    if (acc & 1)
      acc += c;
    else
      acc -= sc;
  }
  return acc;
}
NOINLINE long narrow(short h, unsigned char c, signed char sc, unsigned short us, bool yes, uint64_t wide64, __int128 wide) {
  long r = outer(h & 15, h, c, sc);
  if (yes) r += us;
  r ^= (long)wide64;
  r += (long)(wide >> 60);
  tls_count++;
  return r;
}
NOINLINE size_t text(const char* s, char* out, size_t n) {
  size_t k = 0;
  const char* p = s;
  while (*p && k < n) {
    char ch = *p++;
    if (ch >= 'a') ch -= 32;
    out[k++] = ch;
  }
  last = s;
  return k;
}
NOINLINE int recurse(int n, int* sum) {
  int local[4] = {n, n * 2, n * 3, n * 4};
  if (n == 0) return *sum;
  *sum += local[n & 3];
  int r = recurse(n - 1, sum);
  return r + local[1];
}
NOINLINE float floats(float a, double b, float c[3]) {
  float s = a;
  for (int i = 0; i < 3; i++) {
    float e = c[i] * (float)b;
    s += e;
  }
  return s;
}
NOINLINE int vla(int n) {
  int a[n];
  int s = 0;
  for (int i = 0; i < n; i++) a[i] = i * n;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
NOINLINE int constant(int x) {
  const int five = 5;
  int y = x;
  int dead = y * five;
  if (x > 3) {
    int inner_scope = x - 3;
    y += inner_scope;
  }
  return y + five;
}
typedef int (*fn)(int);
NOINLINE int call(fn f, int x, void* cookie) {
  int r = f(x);
  if (cookie) r++;
  return r;
}
int main(int argc, char** argv) {
  char buffer[64];
  int sum = 0;
  long all = 0;
  float three[3] = {1.5f, -2.25f, 3};
  for (int round = 0; round < 6; round++) {
    struct small s = make_small(round);
    struct big b = make_big(round + 2);
    all += take_small(s, round);
    all += (long)take_mixed((struct mixed){1.5 * round, round}, 2.5f, 3.25L);
    all += (long)take_two((struct two_d){round, 2.0}, b, 1, 2, 3, 4, 5, 6);
    struct bits bits = {round & 7, -round, 1000000007UL * round, round & 1};
    all += take_bits(bits, round & 1 ? BLUE : GREEN, (union u){.i = round});
    all += narrow(-round, 200 + round, -round, 60000 + round, round & 1, 1UL << (40 + round), (__int128)round << 64);
    all += text("Hello, world" + round, buffer, sizeof buffer);
    all += recurse(round, &sum);
    all += (long)floats(round, 2.0, three);
    all += vla(round + 1);
    all += constant(round);
    all += call(constant, round, round & 1 ? buffer : NULL);
  }
  printf("%ld %d %g %d\n", all, counter, total, tls_count);
  (void)argc;
  (void)argv;
  return 0;
}
