// Structures that are hard to show: members of a base class that a derived one masks, references, strings that can't be read,
// letters of several sizes, constants of enumerations; and a function that is inlined in one place and called in another.
#include <cstdio>
#include <cstring>

enum Color { kRed, kGreen = 5, kBlue = -2 };
enum class Mode : unsigned char { kOff, kOn = 200 };

struct Base {
  int id, masked;
};
struct Derived : Base {
  int masked;
  char letter;
  char16_t wide;
  char32_t wider;
  const char *quoted;
  char text[8];
  const char *bad, *null;
};
struct Node {
  int value;
  Node *next;
};

extern "C" {
__attribute__((noinline)) int by_reference(Derived &d, int n, const int &m) {
  asm volatile("" ::"r"(&d), "r"(n), "r"(&m) : "memory");
  return d.id + n + m;
}
__attribute__((noinline)) int by_node(Node *p, int n) {
  asm volatile("" ::"r"(p) : "memory");
  return p->value + n;
}

volatile int sink;
int work(int x, int mode) {
  sink = 1;
  if (mode == 7) {
    sink = x;
    goto special;
  }
  sink = 2;
  return x;
special:
  sink = 9;
  return x + 1;
}
}

volatile Mode mode = Mode::kOn;
volatile Color color = kGreen;

int main(int argc, char **) {
  Derived d;
  memset(&d, 0, sizeof d);
  d.id = 7;
  d.Base::masked = 1;
  d.masked = 2;
  d.letter = 'x';
  d.wide = u'W';
  d.wider = U'\u00e9';
  d.quoted = "he\"y\n";
  strcpy(d.text, "tx\t");
  d.bad = reinterpret_cast<char *>(0x123);
  Node second = {2, nullptr}, first[2] = {{1, &second}, {3, &second}};
  int (*volatile called)(int, int) = work;
  int sum = by_reference(d, 4, argc) + by_node(first, 5) + work(sink, 7) + called(1, 2) + called(1, 7);
  printf("sum %d\n", sum);
}
