#pragma once
// How a probed place reaches a handler: the contract between codegen (which compiles handlers) and engine (which emits
// trampolines). x86-64, System V psABI 1.0 §3.2. Handlers take their arguments as C functions do, and are compiled with LLVM's
// calling convention preserve_most and code of their own that keeps r11 (codegen/lower_target.cpp): they preserve every general
// register (but a returned rax) and never touch vector or x87 registers. Flags are dead at a function's entry and return. `CFA` is
// the value of rsp just before the call that entered the probed function.
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
//                  lea  8(%rsp), %rsp
//                  pop  %rax
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
// SiteKind::kInstruction (statement, SDT mark, inlined function: any instruction)     handler: void enter(rdi, ..., r9)
//
//   All registers and the flags are live, the direction flag may be set, and the 128 bytes below rsp (psABI 3.2.2, the red
//   zone) belong to the function. The six registers hold what they hold there, which only DWARF can interpret; there is
//   no CFA, and rsp has any alignment. Runs before the instruction at its address.
//
//     trampoline:  lea  -128(%rsp), %rsp
//                  pushfq
//                  cld
//                  [push $site_id]            ; with kWantsSiteId: at rsp + 8 on entry of `enter`
//                  call enter
//                  [lea  8(%rsp), %rsp]
//                  popfq
//                  lea  128(%rsp), %rsp
//                  <displaced instructions>
//                  jmp  site + n
//
// SiteKind::kSystemCall (a `syscall` instruction)         handlers: void enter(Registers*), void exit(Registers*)
//
//   kWantsRegisters always. The stack pointer at the call is the program's own, so clone, vfork and rt_sigreturn work, and the
//   return address that the kernel keeps is that of a `syscall` instruction, so that interrupted calls are made again. In a
//   child that clone, fork or vfork has made, exit is called too, and finds that nothing is pending.
//
//     trampoline:  <call of enter, as kInstruction's>
//                  syscall                    ; a thread that waits in the kernel is here
//                  <call of exit, as kInstruction's>
//                  jmp  behind
//                  syscall                    ; made again, of a thread that was in its call when the site was armed
//     behind:      <other displaced instructions>
//                  jmp  site + n
//
// SiteKind::kExit (in place of a return instruction; never requested as such)     handler: void exit()
//
//   As kEntry, right before a `ret`: rsp points to the return address, so CFA = Registers::rsp, as in exit of kReturn.
//
// kReturnsInPlace (kReturn): the function's body is not called; enter, where there is one, is that of a kEntry site, and
// exit one of kExit sites at the function's return instructions. For programs that walk, copy and check their stacks, and so
// must find no return address of ours: Go. There, with kWantsRegisters, handlers run on the stack of the thread rather than
// the goroutine's, which may have no more than a few hundred bytes left (engine/arch/x86_64/goroutine_stack.h).
//
// kWantsRegisters (any kind): before calling enter or exit the trampoline saves a Registers block on the stack and
// passes its address in rdi, nothing else; the registers are restored from it afterwards. enter of a kReturn site
// returns its verdict in rax as above. In exit, Registers::rsp is CFA and the return address slot is CFA - 8; at an entry
// CFA is Registers::rsp + 8. Registers::rip is the probed instruction.
//
// kSwitchable (any kind): before all else the fragment has a 5-byte gate within one aligned 8-byte word, a nop while the
// fragment is on and a jump over it while it is off; the controller writes the word in one store, at any time, while
// threads run. Returns that are pending then still come to exit.
//
// kTouchesStack (any kind): before all else the trampoline reads the stack where its handlers are going to be, and faults there
// if it has no room for them: with all registers as they are at the site, but for rsp. For programs whose handler for SIGSEGV
// decides by the place of the fault what has happened (engine/shown_faults.h).
//
//     test %eax, -N(%rsp)                        ; at a site where flags are dead; else
//     lea  -128(%rsp),%rsp ; push -N(%rsp) ; lea 136(%rsp),%rsp
//
// Writing to the block (guru: `$a = 3` where $a is in a register, `$return = 5` in exit's rax) takes effect for all
// registers but rsp and rip; for flags at kInstruction sites only.

#include <stdint.h>

namespace spile::abi {

// kRoom: no probe; instructions that lead straight to a kExit site behind them, and may be displaced for its sake. Requests
// are for the first three only, and for kSystemCall within the engine.
enum class SiteKind : uint32_t { kEntry, kReturn, kInstruction, kSystemCall, kExit, kRoom };

enum SiteFlags : uint32_t {
  kWantsSiteId = 1,
  kWantsRegisters = 2,
  kSwitchable = 4,
  kReturnsInPlace = 8,
  kTouchesStack = 16,
};

// As the probed instruction would see them. In DWARF's numbering for x86-64 registers 0..16.
struct Registers {
  uint64_t rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
  uint64_t flags;
  uint64_t site_id;
};

inline constexpr int64_t kEntryCfaOffset = 16;
inline constexpr int64_t kEntrySiteIdCfaOffset = 24;
inline constexpr int64_t kReturnEnterCfaOffset = 32;
inline constexpr int64_t kReturnExitCfaOffset = 32;

}  // namespace spile::abi
