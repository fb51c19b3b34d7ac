#pragma once
// The trampolines of x86-64 (System V psABI 1.0 §3.2): what runs between a probed place and its handler, by SiteKind, and the
// registers that a handler is given. abi/trampoline.h has the contract that this fulfills.
//
// Handlers take their arguments as C functions do, and are compiled with LLVM's calling convention preserve_most, which keeps
// every general register but r11 (and rax where the handler returns a value), and with code of their own that keeps r11
// (codegen/process/lower_target.cpp). They never touch vector or x87 registers. Flags are dead at a function's entry and return.
// Where the program has set AC or TF there, the controller clears it when the handler faults or traps, and sets it again behind
// the handler (engine/signal_stops.cpp).
// The CFA is the value of rsp just before the call that entered the probed function.
//
// SiteKind::kEntry                       handler: void enter(rdi, rsi, rdx, rcx, r8, r9)
//
//     site:        jmp  trampoline            ; 5 bytes, after an endbr64 if there is one
//     trampoline:  call enter                 ; CFA = rsp on entry of `enter` + 16
//                  <displaced instructions>
//                  jmp  site + n
//
//   with kWantsSiteId:
//     trampoline:  push $site_id              ; sign-extended 32 bits; at rsp + 8 on entry of `enter`
//                  call enter                 ; CFA = rsp + 24
//                  lea  8(%rsp), %rsp
//                  ...
//
// SiteKind::kReturn (call-in-place)      handlers: uint64_t enter(rdi, ..., r9); void exit(rax, rdx)
//
//     trampoline:  push %rax                  ; al counts vector arguments of a variadic call
//                  push $site_id              ; always
//                  call enter                 ; CFA = rsp + 32; site id at rsp + 8; the real return address at rsp + 24.
//                  test %eax, %eax            ; 1: enter has pushed a ShadowFrame for stack slot CFA - 8; 0: skip
//                  pop  %rax ; pop %rax       ; 2 bytes: with short displaced instructions, all of it fits a line of the cache
//                  jz   body
//                  lea  8(%rsp), %rsp         ; the real return address comes off ...
//                  call body                  ; ... and ours takes its place: arguments on the stack don't move
//     returned:    lea  -8(%rsp), %rsp        ; the slot again, as it is; exit stores the real return address into it
//                  push %rdi ; push %rsi      ; gcc's -fipa-ra callers may count on these
//                  mov  %rax, %rdi ; mov %rdx, %rsi
//                  call exit                  ; CFA = rsp + 32; the slot at rsp + 24
//                  pop  %rsi ; pop %rdi
//                  ret
//     body:        <displaced instructions>
//                  jmp  site + n
//
// SiteKind::kInstruction                 handler: void enter(rdi, ..., r9)
//
//   All registers and the flags are live, the direction flag may be set, and the 128 bytes below rsp (psABI 3.2.2, the red
//   zone) belong to the function. rsp has any alignment.
//
//     trampoline:  lea  -128(%rsp), %rsp
//                  pushfq
//                  cld
//                  testl $AC|TF, (%rsp)       ; the program's, under which the handler's unaligned loads would fault and
//                  jz   call                  ; its instructions trap; to clear them always would take tens of cycles
//                  pushfq ; andl $~(AC|TF), (%rsp) ; popfq
//     call:        [push $site_id]            ; with kWantsSiteId: at rsp + 8 on entry of `enter`
//                  call enter
//                  [lea  8(%rsp), %rsp]
//                  popfq
//                  lea  128(%rsp), %rsp
//                  <displaced instructions>
//                  jmp  site + n
//
// SiteKind::kSystemCall (a `syscall` instruction)         handlers: void enter(Registers*), void exit(Registers*)
//
//     trampoline:  <call of enter, as kInstruction's>
//                  syscall                    ; a thread that waits in the kernel is here
//                  <call of exit, as kInstruction's>
//                  jmp  behind
//                  syscall                    ; made again, of a thread that was in its call when the site was armed
//     behind:      <other displaced instructions>
//                  jmp  site + n
//
// SiteKind::kExit (in place of a `ret`)                   handler: void exit()
//
//   As kEntry, right before the `ret`: rsp points to the return address, so CFA = Registers::rsp, as in exit of kReturn.
//
// kWantsRegisters: the address of the block comes in rdi, nothing else does; enter of a kReturn site returns its verdict in rax.
//
// kSwitchable: the gate is 5 bytes within one aligned 8-byte word, a nop while the fragment is on and a jump over it while it
// is off.
//
// kTouchesStack:
//
//     test %eax, -N(%rsp)                        ; at a site where flags are dead; else
//     lea  -128(%rsp),%rsp ; push -N(%rsp) ; lea 136(%rsp),%rsp

#include <stddef.h>
#include <stdint.h>

#include "abi/x86_64/convention.h"

namespace spile::abi::x86_64 {

// Words by their numbers in convention.h, up to the flags. Only code of x86-64 uses the names of the fields.
struct Registers {
  uint64_t rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
  uint64_t flags;
  uint64_t site_id;
};
static_assert(sizeof(Registers) == 152);
static_assert(offsetof(Registers, rdx) == 8 * kRdx && offsetof(Registers, rcx) == 8 * kRcx &&
              offsetof(Registers, rbx) == 8 * kRbx);
static_assert(offsetof(Registers, rsi) == 8 * kRsi && offsetof(Registers, rdi) == 8 * kRdi &&
              offsetof(Registers, rbp) == 8 * kRbp);
static_assert(offsetof(Registers, rsp) == 8 * kRsp && offsetof(Registers, r8) == 8 * kR8 && offsetof(Registers, r15) == 8 * kR15);
static_assert(offsetof(Registers, rip) == 8 * kRip && offsetof(Registers, flags) == 8 * kFlags &&
              offsetof(Registers, site_id) == 144);

// Offsets in bytes from the place of the handler's return address, for handlers that are not given a Registers block, as in the
// pictures.
inline constexpr int64_t kSiteIdOffset = 8;
inline constexpr int64_t kEntryCfaOffset = 16;
inline constexpr int64_t kEntrySiteIdCfaOffset = 24;
inline constexpr int64_t kReturnEnterCfaOffset = 32;
inline constexpr int64_t kReturnExitCfaOffset = 32;

}  // namespace spile::abi::x86_64
