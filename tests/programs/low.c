// low: at a low address (no PIE), with much zeroed data where so built; maps its own file once more, far away, as V8 does with
// the code of its builtins. On each line of input it calls work() 100 times and lets its heap grow by 100 MiB, by brk, as
// allocators do. Prints "ready", and after each line how often the heap did not grow.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef ZEROED
static char zeroed[ZEROED];
#endif
static volatile long sink;

__attribute__((noinline, noclone, used)) long work(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

// A jump in the first instruction of tiny_loop, which alone has room, takes its target from the bytes behind: 1.2 GB away. It
// has no padding near it, where a short jump could lead.
#define FULL ".rept 100\n\tadd %rdi, %rax\n.endr\n\tret\n"
__asm__(
    ".text\n" FULL
    ".globl tiny_loop\n.type tiny_loop,@function\ntiny_loop:\n\tmov %edi, %eax\n1:\tdec %edi\n\ttest %rdi, %rdi\n"
    "\tjne 1b\n\tret\n.size tiny_loop, .-tiny_loop\n" FULL);

int main(void) {
  alarm(60);
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
#ifdef ZEROED
  zeroed[sink] = 1;
#endif
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    int failed = 0;
    for (long n = 0; n < 100; n++) {
      work(n);
      if (sbrk(1 << 20) == (void*)-1) failed++;
    }
    printf("failed %d\n", failed);
    fflush(stdout);
  }
  return 0;
}
