// A library that `syscalls library` opens: make_calls(n) makes n system calls by an instruction of its own. Its text also has
// the bytes of one where no unwind information says what they are: in a table, or (WITHOUT_UNWIND) in the function itself.
#ifdef WITHOUT_UNWIND
__asm__(".text\n.type call, @function\ncall:\nmov $110, %eax\nsyscall\nret\n");
long call(void);
#else
__asm__(".text\n.p2align 4\nconstants: .quad 0x0606050f06060606, 0x0606060606060606\n.p2align 4\n");
static long call(void) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(110) : "rcx", "r11", "memory");  // getppid
  return result;
}
#endif

void make_calls(long n) {
  for (long i = 0; i < n; i++) call();
}
