// one_pointer KIND N [wait]: two threads (KIND thread), or two processes in one memory (KIND process), that have one thread
// pointer call probed() N times each, without a C library's help (clone(2) without CLONE_SETTLS). KIND bare: as thread, but
// the thread pointer is 0; KIND later: as bare, behind a call with the C library's thread pointer. "wait": begins when a byte
// comes on the standard input, with both running. Prints how many calls there were.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long sink;
static long calls;
static volatile int begun, done;
static char stack[1 << 16] __attribute__((aligned(64)));

__attribute__((noinline, noclone, used)) long probed(long value) {
  __asm__ volatile("" ::: "memory");
  return value + 1;
}

static inline long raw(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

__attribute__((optimize("no-stack-protector"))) static void work(void) {
  while (!begun) raw(SYS_sched_yield, 0, 0, 0, 0, 0);
  for (long i = 0; i < calls; i++) probed(i);
}

__attribute__((used, optimize("no-stack-protector"))) static void newborn(void) {
  work();
  __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
  raw(SYS_exit, 0, 0, 0, 0, 0);
}

__attribute__((optimize("no-stack-protector"))) int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "thread";
  calls = argc > 2 ? atol(argv[2]) : 1000;
  int waits = argc > 3, is_process = strcmp(kind, "process") == 0, is_later = strcmp(kind, "later") == 0;
  int is_bare = is_later || strcmp(kind, "bare") == 0;
  long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  if (is_process) flags = CLONE_VM | SIGCHLD;
  unsigned long base = 0;
  raw(SYS_arch_prctl, ARCH_GET_FS, (long)&base, 0, 0, 0);
  if (is_later) probed(0);
  if (is_bare) raw(SYS_arch_prctl, ARCH_SET_FS, 0, 0, 0, 0);
  long result;
  void** top = (void**)(stack + sizeof stack - 16);
  *--top = (void*)newborn;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n xor %%ebp, %%ebp\n ret\n1:"
                   : "=a"(result)
                   : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0L), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  char byte;
  if (waits) {
    raw(SYS_write, 1, (long)"ready\n", 6, 0, 0);
    raw(SYS_read, 0, (long)&byte, 1, 0, 0);
  }
  begun = 1;
  work();
  while (!done) raw(SYS_sched_yield, 0, 0, 0, 0, 0);
  if (is_bare) raw(SYS_arch_prctl, ARCH_SET_FS, (long)base, 0, 0, 0);
  if (is_process) wait(NULL);
  printf("calls %ld\n", 2 * calls + is_later);
  return result < 0;
}
