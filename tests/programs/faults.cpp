// Faults at the first instructions of functions, which handlers make exceptions of, mend, or leave to the next instruction.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

struct Fault {};
enum Mode { kThrow, kMend, kSkip } mode;
int mended, skipped;
char* page;
unsigned long strange;
extern "C" char __executable_start, etext;

void on_fault(int, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto at = reinterpret_cast<char*>(registers[REG_RIP]);
  strange += at < &__executable_start || at > &etext;
  if (mode == kThrow) throw Fault();
  for (int i = 0; i < 3; i++) (void)getppid();
  if (mode == kMend) {
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    mended++;
  } else {
    registers[REG_RIP] += info->si_signo == SIGSEGV ? 2 : 0;  // mov (%rdi),%eax
    skipped++;
  }
}

}  // namespace

extern "C" {
int first_loads(int* from);
int second_loads(int* from);
int divides(int a, int b);
}
// With the fault in their first instruction, and behind one that must not be done twice.
asm(R"(
  .text
  .globl first_loads, second_loads, divides
  .type first_loads, @function
  .type second_loads, @function
  .type divides, @function
first_loads:
  .cfi_startproc
  movl (%rdi), %eax
  addl $1, %eax
  ret
  .cfi_endproc
  .size first_loads, .-first_loads
  .p2align 4
second_loads:
  .cfi_startproc
  addl $1, count(%rip)
  movl (%rdi), %eax
  ret
  .cfi_endproc
  .size second_loads, .-second_loads
  .p2align 4
divides:
  .cfi_startproc
  movl %edi, %eax
  cltd
  idivl %esi
  ret
  .cfi_endproc
  .size divides, .-divides
  .p2align 4
  .bss
  .globl count
  .p2align 2
count: .zero 4
  .text
)");
extern "C" int count;

int main() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGFPE, &action, nullptr);
  page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  int caught = 0, sum = 0, one = 1;
  mode = kThrow;
  for (int i = 0; i < 30; i++) {
    try { sum += first_loads(i % 2 ? nullptr : &one); } catch (Fault) { caught++; }
    try { sum += second_loads(i % 3 ? nullptr : &one); } catch (Fault) { caught++; }
    try { sum += divides(i, i % 3); } catch (Fault) { caught++; }
  }
  mode = kMend;
  for (int i = 0; i < 30; i++) {
    mprotect(page, 4096, PROT_NONE);
    sum += i % 2 ? first_loads(reinterpret_cast<int*>(page)) : second_loads(reinterpret_cast<int*>(page));
  }
  mode = kSkip;
  for (int i = 0; i < 30; i++) (void)first_loads(nullptr);
  printf("caught %d mended %d skipped %d count %d sum %d strange %lu\n", caught, mended, skipped, count, sum, strange);
  return 0;
}
