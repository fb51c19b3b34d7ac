// Calls work(i, text) so many times in strict seccomp mode: a system call other than read, write and exit, by whomever it
// is made, kills the process. `strict CALLS [open]`: with `open`, makes a forbidden one, to see that it does.
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct node {
  long value;
  struct node* next;
};

__attribute__((noinline)) long work(long i, const char* text, struct node* node) {
  __asm__ volatile("");
  return i + text[0] + node->value;
}

__attribute__((noinline)) long outer(long i, const char* text, struct node* node) { return work(i, text, node) + 1; }

int main(int argc, char** argv) {
  long calls = atol(argv[1]), sum = 0;
  struct node node = {3, NULL};
  char line[64];
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 1;
  if (argc > 2) syscall(SYS_getpid);
  for (long i = 0; i < calls; i++) sum += outer(i, "text", &node);
  write(1, line, snprintf(line, sizeof line, "sum %ld\n", sum));
  syscall(SYS_exit, 0);
}
