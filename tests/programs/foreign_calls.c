// Makes ten times two system calls of 32-bit code, whose numbers are those of writev and getppid in 64-bit code, and three times these two.
#include <sys/uio.h>
#include <unistd.h>

static void foreign(long number) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "rbx", "rcx", "rdx", "memory");
}

int main(void) {
  struct iovec nothing = {"", 0};
  for (int i = 0; i < 10; i++) {
    foreign(20);   // getpid; writev
    foreign(110);  // iopl; getppid
  }
  for (int i = 0; i < 3; i++) {
    writev(1, &nothing, 1);
    getppid();
  }
  return 0;
}
