// Values of every kind, and marks: what target syntax reads and writes is what the program prints itself.
#include <stdio.h>

struct inner { int x; char name[8]; };
enum color { RED, GREEN = 5 };
struct node {
  int value;
  unsigned flags : 3;
  int low : 4;
  struct inner in;
  struct node* next;
  const char* label;
  enum color color;
  union { int u1; long u2; };
  int numbers[3];
  char letter;
  _Bool yes;
  int table[2][2];
};

// An SDT mark as <sys/sdt.h> makes it: a nop, a note, and a semaphore that says whether somebody looks.
__attribute__((section(".probes"), visibility("hidden"))) volatile unsigned short spile_step_semaphore;
#define MARK(a, b)                                                                        \
  __asm__ volatile(                                                                       \
      "990: nop\n"                                                                        \
      ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                             \
      ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"         \
      "993: .8byte 990b, _.stapsdt.base, spile_step_semaphore\n"                          \
      ".asciz \"spile\"\n.asciz \"step\"\n.asciz \"-4@%0 8@%1 4@$3\"\n994: .balign 4\n"   \
      ".popsection\n"                                                                     \
      ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"          \
      ".size _.stapsdt.base, 1\n.popsection\n.endif\n"                                    \
      :                                                                                   \
      : "r"(a), "m"(b))

int counter = 7;
static int hidden_global = 3;

static inline __attribute__((always_inline)) int twice(int q) {
  int doubled = q * 2;
  counter += doubled;
  return doubled;
}

__attribute__((noinline)) int visit(int a, struct node* n, const char* text) {
  int local = a + 1;
  local += twice(local);
  n->value += local;
  long wide = 1000L * local;
  if (spile_step_semaphore) MARK(-local, wide);
  printf("visit %d %d %d %d %s\n", local, n->value, n->numbers[1], n->low, text);
  return local;
}

__attribute__((noinline)) int result(int a) { return a + hidden_global; }

int main(void) {
  struct node second = {.value = 2, .label = "second"};
  struct node first = {.value = 10, .flags = 5, .low = -3, .in = {42, "inn"}, .next = &second, .label = "hello",
                       .color = GREEN, .u2 = 77, .numbers = {1, 2, 3}, .letter = 'q', .yes = 1,
                       .table = {{1, 2}, {3, 4}}};
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += visit(i, &first, "text");
  printf("sum %d result %d counter %d\n", sum, result(4), counter);
  return 0;
}
