// Makes system calls of i386 by `int $0x80`, without a C library: built for 32 bits, and for 64 bits, where it makes one of x32,
// too (most kernels refuse it). With an argument it goes on for ten seconds.
static char root[] = "/", nowhere[] = "/nowhere/at/all", buffer[8];
static int instant[2] = {0, 1000}, second[2] = {0, 100000000};

#define POINTER(p) ((int)(long)(p))

// The sixth argument is 0.
static long call(int number, int a, int b, int c, int d, int e) {
  long result;
#ifdef __x86_64__
  __asm__ volatile("push %%rbp\n\txor %%ebp, %%ebp\n\tint $0x80\n\tpop %%rbp"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                   : "memory", "r8", "r9", "r10", "r11");
#else
  __asm__ volatile("push %%ebp\n\txor %%ebp, %%ebp\n\tint $0x80\n\tpop %%ebp"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                   : "memory");
#endif
  return result;
}

static void work(void) {
  for (int i = 0; i < 5; i++) call(64, 0, 0, 0, 0, 0);                      // getppid
  call(12, POINTER(root), 0, 0, 0, 0);                                     // chdir
  call(180, -1, POINTER(buffer), 8, 0x23456789, 1);                         // pread64
  call(193, POINTER(nowhere), 0x23456789, 1, 0, 0);                         // truncate64
  call(162, POINTER(instant), 0, 0, 0, 0);                                  // nanosleep
  call(7, -1, 0, 1, 0, 0);                                                  // waitpid
#ifdef __x86_64__
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(0x40000000 | 39) : "rcx", "r11", "memory");  // x32's getpid
#endif
}

// Called with the program's stack pointer, where the number of its arguments lies.
__attribute__((used)) static void begin(long* stack) {
  work();
  for (int i = 0; stack[0] > 1 && i < 100; i++) {
    work();
    call(162, POINTER(second), 0, 0, 0, 0);
  }
  call(252, 3, 0, 0, 0, 0);  // exit_group
}

#ifdef __x86_64__
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tcall begin");
#else
__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tpush %eax\n\tpush %eax\n\tcall begin");
#endif
