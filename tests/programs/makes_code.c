// makes_code N: calls target() N times by code that it makes, whose name "made_code" it writes for perf.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline, noclone, used)) void target(void) { asm volatile("" ::: "memory"); }

int main(int count, char** words) {
  // push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret
  static const unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  void* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, kCode, sizeof kCode);
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  FILE* map = fopen(path, "w");
  fprintf(map, "%lx %zx made_code\n", (unsigned long)code, sizeof kCode);
  fclose(map);
  for (long i = count > 1 ? atol(words[1]) : 1; i > 0; i--) ((void (*)(void (*)(void)))code)(target);
  sleep(1);
  unlink(path);
}
