// hooker: a program that hooks its own function probed(), as hooking libraries do. Reads commands, a line each, and answers with
// a line each:
//   call N    calls probed() N times: "called N, W wrong, H hooked"
//   hook      saves the first bytes of probed(), of which a jump is carried over, and writes a jump to hook() there
//   unhook    writes the saved bytes back
//   reread    lets the kernel read the page of probed() anew from the file
//   bytes     the first 16 bytes of probed(), in hexadecimal
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

volatile long sink;
static unsigned char saved[5];
static unsigned char* through;  // code that does what the saved bytes do, and goes on behind them
static long hooked;

// Its first instruction has 10 bytes.
__attribute__((noinline, used, aligned(4096))) long probed(long value) {
  __asm__ volatile("movabs $0x123456789abcdef0, %%rax" ::: "rax");
  sink = value;
  return value * 3 + 1;
}
__attribute__((noinline, used, aligned(4096))) long behind(void) { return sink; }
static long (*volatile callee)(long) = probed;

static void writable(void) {
  if (mprotect((void*)probed, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) exit(3);
}

static long hook(long value) {
  hooked++;
  return ((long (*)(long))through)(value);
}

static void put_jump(unsigned char* at, const unsigned char* to) {
  int32_t distance = (int32_t)(to - (at + 5));
  at[0] = 0xe9;
  memcpy(at + 1, &distance, 4);
}

static void put_hook(void) {
  unsigned char* text = (unsigned char*)probed;
  memcpy(saved, text, sizeof saved);
  if (saved[0] == 0xe9) {
    int32_t distance;
    memcpy(&distance, saved + 1, 4);
    put_jump(through, text + 5 + distance);
  } else {
    memcpy(through, text, 16);
    int first = memcmp(text, "\xf3\x0f\x1e\xfa", 4) ? 10 : 14;  // what -fcf-protection puts before it
    put_jump(through + first, text + first);
  }
  writable();
  put_jump(text, (unsigned char*)hook);
}

int main(void) {
  // near enough for jumps of 32 bits
  through = mmap((void*)(((uintptr_t)probed & ~4095ul) + (64 << 20)), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (through == MAP_FAILED) return 2;
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "call ", 5)) {
      long count = atol(line + 5), wrong = 0;
      hooked = 0;
      for (long i = 0; i < count; i++) wrong += callee(i) != i * 3 + 1;
      printf("called %ld, %ld wrong, %ld hooked\n", count, wrong, hooked);
      continue;
    }
    if (!strcmp(line, "hook\n")) put_hook();
    if (!strcmp(line, "unhook\n")) memcpy((void*)probed, saved, sizeof saved);
    if (!strcmp(line, "reread\n") && madvise((void*)probed, 4096, MADV_DONTNEED)) return 4;
    if (!strcmp(line, "bytes\n"))
      for (int i = 0; i < 16; i++) printf("%02x", ((unsigned char*)probed)[i]);
    puts("");
  }
  return 0;
}
