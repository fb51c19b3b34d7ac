// uprobed: functions that begin with instructions of many lengths. Each returns its argument plus 1. Reads lines "call N", calls
// each N times, and answers "called N, W wrong".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// FUNCTION(name, first instructions, instructions before the return)
#define FUNCTION(name, first, last)                                                                           \
  __asm__(".pushsection .text\n.balign 32\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" first   \
          "lea 1(%rdi), %rax\nnop\nnop\nnop\nnop\n" last "ret\n.size " #name ", .-" #name "\n.popsection\n"); \
  long name(long value);

FUNCTION(push1, "push %rbp\nmov %rsp, %rbp\nsub $8, %rsp\n", "leave\n")
FUNCTION(push2, "push %r12\npush %rbx\n", "pop %rbx\npop %r12\n")
FUNCTION(push22, "push %r12\npush %r13\n", "pop %r13\npop %r12\n")
FUNCTION(xor2, "xor %eax, %eax\n", "")
FUNCTION(test2, "test %edi, %edi\n", "")
FUNCTION(mov3, "mov %rdi, %rax\n", "")
FUNCTION(test3, "test %rdi, %rdi\n", "")
FUNCTION(zext3, "movzbl %dl, %eax\n", "")
FUNCTION(sub4, "sub $8, %rsp\n", "add $8, %rsp\n")
FUNCTION(endbr4, "endbr64\npush %rbp\nmov %rsp, %rbp\n", "leave\n")
FUNCTION(mov5, "mov $1, %eax\n", "")
FUNCTION(load6, "mov counter(%rip), %eax\n", "")
FUNCTION(cmp7, "cmpl $0, counter(%rip)\n", "")
FUNCTION(lea7, "lea counter(%rip), %rax\n", "")
FUNCTION(sub7, "sub $0x100, %rsp\n", "add $0x100, %rsp\n")
FUNCTION(guard9, "mov %fs:0x28, %rax\n", "")
FUNCTION(plain, "push %rbp\nmov %rsp, %rbp\nsub $8, %rsp\n", "leave\n")
int counter;

static const struct {
  const char* name;
  long (*function)(long);
} functions[] = {{"push1", push1}, {"push2", push2}, {"push22", push22}, {"xor2", xor2},     {"test2", test2}, {"mov3", mov3},
                 {"test3", test3}, {"zext3", zext3}, {"sub4", sub4},     {"endbr4", endbr4}, {"mov5", mov5},   {"load6", load6},
                 {"cmp7", cmp7},   {"lea7", lea7},   {"sub7", sub7},     {"guard9", guard9}, {"plain", plain}};

int main(void) {
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (fgets(line, sizeof line, stdin)) {
    long count = atol(line + strlen("call ")), wrong = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      for (long n = 0; n < count; n++) wrong += functions[i].function(n) != n + 1;
    }
    printf("called %ld, %ld wrong\n", count, wrong);
  }
  return 0;
}
