// Calls functions with good, null and bad pointers and references, and with structures that are passed in registers.
#include <cstdio>

#ifdef __clang__
#define PROBED extern "C" __attribute__((noinline, used))
#else
#define PROBED extern "C" __attribute__((noipa, used))
#endif
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

struct inner {
  int a;
  char name[8];
};
struct outer {
  int x;
  inner in;
  const char* text;
  inner* next;
  unsigned low : 3;
  inner* both[2];
};
struct tagged {
  int a;
  char tag[4];
};
struct letters {
  char text[11];
  signed char more;
};
union either {
  long number;
  char text[8];
};
struct nested {
  int first;
  struct {
    short a;
    char tag[3];
    int b;
  } in;  // in both registers
};

PROBED int pointed(outer* p, int n) { KEEP(p); KEEP(n); return n; }
PROBED int doubly(outer** p, int n) { KEEP(p); KEEP(n); return n; }
PROBED int referred(outer& r, const int& i, int n) { KEEP(&r); KEEP(&i); KEEP(n); return n; }
PROBED outer* result(long n) { KEEP(n); return reinterpret_cast<outer*>(n); }
PROBED int in_registers(tagged t, letters l, either e, int n) {
  KEEP(t.a + l.text[10] + l.more + e.text[7]);
  KEEP(l.text[0] + e.number + t.tag[3]);
  return n;
}

PROBED nested nested_in_registers(nested s, float f, double d) {
  KEEP(f + d);
  return s;
}

struct counter {
  static int count;
};
int counter::count = 1;
namespace plane {
struct counter {
  static int count;
};
int counter::count = 2;
static volatile int height = 3;
}  // namespace plane

outer* shared;

int main() {
  static inner next = {5, "next"};
  static outer good = {1, {2, "in"}, "text", &next, 5, {&next, &next}};
  outer* volatile addresses[] = {&good, nullptr, reinterpret_cast<outer*>(0x1000)};
  int three = 3;
  for (int i = 0; i < 3; i++) {
    outer* address = addresses[i];
    pointed(address, i);
    doubly(i == 0 ? const_cast<outer**>(addresses) : reinterpret_cast<outer**>(address), i);
    referred(*address, i == 0 ? three : *reinterpret_cast<int*>(address), i);
    result(reinterpret_cast<long>(address));
  }
  in_registers({7, {'a', 'b', 0, 'c'}}, {"ten \"lette", -1}, {0x6162}, 4);
  nested_in_registers({1, {2, {'x', 'y'}, 3}}, 1.5f, 2.5);
  if (counter::count + plane::counter::count + plane::height == 0) return 1;
  puts("done");
}
