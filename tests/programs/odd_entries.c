// odd_entries N: calls N times each function of unusual first instructions, and recurse(10000) once. Prints a sum of the results.
#include <stdio.h>
#include <stdlib.h>

// Each takes a number of at least 1. In order: a loop to the entry (which is passed 3 times a call), one to the second byte, calls
// and branches first, a string instruction, an indirect branch target's mark, one with a loop to what is behind it, a tail jump into another of them, an address relative
// to the instruction, and a single byte.
long to_entry(long), to_second(long), call_first(long), call_second(long), indirect_call_first(long), branch_first(long),
    jrcxz_first(long), loop_first(long), rep_first(long), marked(long), marked_loop(long), tail(long), relative(long), one_byte(long);
#define FUNCTION(name, code) ".p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ": " code "\n.size " #name ", .-" #name "\n"
__asm__(
    ".text\n"
    "helper: lea 1(%rdi), %rax\n ret\n"
    ".pushsection .data.rel, \"aw\"\nhelper_pointer: .quad helper\nvalue: .quad 5\n.popsection\n"
    FUNCTION(to_entry, "inc %rsi\n cmp $3, %rsi\n jl to_entry\n mov %rsi, %rax\n ret")
    FUNCTION(to_second, "nop\n1: dec %rdi\n jg 1b\n lea 7(%rdi), %rax\n ret")
    FUNCTION(call_first, "call helper\n inc %rax\n ret")
    FUNCTION(call_second, "push %rbx\n call helper\n pop %rbx\n ret")
    FUNCTION(indirect_call_first, "call *helper_pointer(%rip)\n inc %rax\n ret")
    FUNCTION(branch_first, "jmp 1f\n mov $1, %eax\n ret\n1: mov $2, %eax\n ret")
    FUNCTION(jrcxz_first, "jrcxz 1f\n mov $1, %eax\n ret\n1: mov $2, %eax\n ret")
    FUNCTION(loop_first, "loop 1f\n mov $1, %eax\n ret\n1: mov $2, %eax\n ret")
    FUNCTION(rep_first, "rep lodsb\n mov $4, %eax\n ret")
    FUNCTION(marked, "endbr64\n mov %rdi, %rax\n ret")
    FUNCTION(marked_loop, "endbr64\n1: dec %rdi\n jg 1b\n lea 7(%rdi), %rax\n ret")
    FUNCTION(tail, "inc %rdi\n jmp marked")
    FUNCTION(relative, "mov value(%rip), %eax\n ret")
    FUNCTION(one_byte, "ret")
    // With the registers in which the above find something: rdi, rsi and rcx.
    ".globl call\n.type call, @function\ncall: mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n jmp *%rax\n");
long call(long (*function)(long), long argument, const void* pointer, long count);

__attribute__((noinline, noclone)) long recurse(long n) {
  if (n == 0) return 0;
  long below = recurse(n - 1);
  __asm__ volatile("" : "+r"(below));
  return below + 1;
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 100, sum = 0;
  long (*const functions[])(long) = {to_second, marked_loop, call_first, call_second, indirect_call_first, branch_first, jrcxz_first,
                                     loop_first,  rep_first,  marked,      tail,                relative};
  for (long i = 0; i < n; i++) {
    for (unsigned f = 0; f < sizeof functions / sizeof *functions; f++) sum += call(functions[f], 3, "text", (i & 1) + 1);
    sum += call(to_entry, 3, NULL, 1);
    call(one_byte, 3, NULL, 1);
  }
  sum += recurse(10000);
  printf("sum %ld\n", sum);
}
