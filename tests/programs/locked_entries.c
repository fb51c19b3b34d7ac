// locked_entries COUNT: calls five functions in turn; the first instruction of two of them has a lock prefix, where the kernel puts no uprobe.
#include <stdlib.h>

long value;

#define LOCKED(name)                                                                              \
  long name(long* at);                                                                            \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n lock incq (%rdi)\n" \
          " mov (%rdi), %rax\n ret\n.size " #name ", . - " #name "\n");
#define PLAIN(name) \
  __attribute__((noinline)) long name(long* at) { return *at += 1; }

PLAIN(entry_a)
LOCKED(entry_b)
PLAIN(entry_c)
LOCKED(entry_d)
PLAIN(entry_e)

int main(int argc, char** argv) {
  long count = argc > 1 ? atol(argv[1]) : 1;
  for (long i = 0; i < count; i++) entry_a(&value), entry_b(&value), entry_c(&value), entry_d(&value), entry_e(&value);
  return value != 5 * count;
}
