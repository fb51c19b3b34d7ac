// flags N [trap]: calls probed() N times with flags set that hit loads of handlers: alignment check and, below a probed
// statement, direction, nested task and identification. With "trap" the program steps itself by the trap flag, too. Prints what
// the calls returned, how often the alignment check or another flag was lost, and whether its own steps were seen.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBED __attribute__((noinline, noclone, used))
enum { kTrap = 1 << 8, kDirection = 1 << 10, kNested = 1 << 14, kAlignment = 1 << 18, kIdentification = 1 << 21 };

struct unaligned {
  char first;
  long value;
} __attribute__((packed));

volatile long sink;
static volatile sig_atomic_t steps;

PROBED long probed(struct unaligned* given) {
  sink = given->first;
  return given->first + 1;
}

// Sets the flags, and returns those that it finds behind stated_at.
long stated(struct unaligned* given, unsigned long flags);
__asm__(
    ".text\n.p2align 4\n.globl stated\n.type stated, @function\nstated:\n"
    "  push %rsi\n  popfq\n"
    ".globl stated_at\nstated_at:\n"
    "  mov $1, %ecx\n  mov $2, %edx\n"
    "  pushfq\n  pop %rax\n  push $2\n  popfq\n  ret\n"
    ".size stated, .-stated\n");

static unsigned long flags(void) {
  unsigned long value;
  __asm__ volatile("pushfq\n pop %0" : "=r"(value)::"memory");
  return value;
}

static void set_flags(unsigned long value) { __asm__ volatile("push %0\n popfq" ::"r"(value) : "memory", "cc"); }

static void on_step(int signal) {
  (void)signal;
  steps++;
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000, sum = 0, lost = 0, other = 0;
  int traps = argc > 2 && strcmp(argv[2], "trap") == 0;
  struct unaligned given = {1, 7};
  signal(SIGTRAP, on_step);
  const unsigned long plain = flags(), kSome = kDirection | kNested | kAlignment | kIdentification;
  for (long i = 0; i < n; i++) {
    given.first = (char)(i & 15);
    set_flags(plain | kAlignment | (traps ? kTrap : 0));
    long result = probed(&given);
    unsigned long behind = flags();
    set_flags(plain);
    sum += result;
    if (!(behind & kAlignment) || (traps && !(behind & kTrap))) lost++;
    unsigned long stays = plain | kSome | (traps ? kTrap : 0);
    if ((stated(&given, stays) & (kSome | kTrap)) != (stays & (kSome | kTrap))) other++;
  }
  printf("sum %ld lost %ld other %ld steps %s\n", sum, lost, other, steps ? "seen" : "none");
}
