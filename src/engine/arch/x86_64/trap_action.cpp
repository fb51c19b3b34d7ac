#include "engine/arch/x86_64/trap_action.h"

#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

// void handler(int signal, siginfo_t*, ucontext_t* context): context->uc_mcontext.gregs[REG_RIP] is at 168(%rdx).
TrapAction emit_trap_action(Address at, uint64_t entries) {
  Assembler out(at);
  out.bytes({0x48, 0x8b, 0x82, 0xa8, 0x00, 0x00, 0x00});  //    mov  168(%rdx), %rax
  out.bytes({0x48, 0x8d, 0x0d});                          //    lea  table(%rip), %rcx
  out.imm32(0);
  uint32_t table_field = out.offset();
  out.bytes({0x4c, 0x8b, 0x01});                          // 1: mov  (%rcx), %r8
  out.bytes({0x4d, 0x85, 0xc0});                          //    test %r8, %r8
  out.bytes({0x74, 0x17});                                //    jz   3f
  out.bytes({0x49, 0x39, 0xc0});                          //    cmp  %rax, %r8
  out.bytes({0x74, 0x06});                                //    je   2f
  out.bytes({0x48, 0x83, 0xc1, 0x10});                    //    add  $16, %rcx
  out.bytes({0xeb, 0xed});                                //    jmp  1b
  out.bytes({0x48, 0x8b, 0x41, 0x08});                    // 2: mov  8(%rcx), %rax
  out.bytes({0x48, 0x89, 0x82, 0xa8, 0x00, 0x00, 0x00});  //    mov  %rax, 168(%rdx)
  out.bytes({0xc3});                                      //    ret
  // 3: none of ours. rt_sigaction(SIGTRAP, all zero, 0, 8); tgkill(getpid(), gettid(), SIGTRAP)
  out.bytes({0xb8, 0x0d, 0x00, 0x00, 0x00, 0xbf, 0x05, 0x00, 0x00, 0x00});        // mov $13, %eax; mov $5, %edi
  out.bytes({0x48, 0x8d, 0x35});                                                  // lea zeros(%rip), %rsi
  out.imm32(0);
  uint32_t zeros_field = out.offset();
  out.bytes({0x31, 0xd2, 0x41, 0xba, 0x08, 0x00, 0x00, 0x00, 0x0f, 0x05});        // xor %edx, %edx; mov $8, %r10d; syscall
  out.bytes({0xb8, 0x27, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x89, 0xc7});              // mov $39, %eax; syscall; mov %eax, %edi
  out.bytes({0xb8, 0xba, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x89, 0xc6});              // mov $186, %eax; syscall; mov %eax, %esi
  out.bytes({0xba, 0x05, 0x00, 0x00, 0x00, 0xb8, 0xea, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc3});  // tgkill; ret
  uint32_t restorer = out.offset();
  out.bytes({0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05});  // mov $15, %eax; syscall: rt_sigreturn
  out.align(8, 8);
  out.aim_here(zeros_field);
  for (int i = 0; i < 8; i++) out.imm32(0);
  out.aim_here(table_field);
  uint32_t table = out.offset();
  TrapAction action{out.take(), table, restorer};
  action.bytes.resize(table + (entries + 1) * 16);
  return action;
}

}  // namespace spile::engine::x86_64
