#pragma once
// How a probed place reaches a handler: the contract between codegen (which compiles handlers) and engine (which emits
// trampolines), as far as it is the same on every machine. The machine's own file (x86_64/trampoline.h) shows the instructions.
//
// Handlers take arguments as the machine's C functions do, and keep every register but that of their own result: a trampoline
// saves only the registers that the pictures show. `CFA` is the value of the stack pointer just before the call that entered the
// probed function. With kWantsSiteId the site id lies on the stack at kSiteIdOffset.
//
// SiteKind::kEntry                       handler: void enter(argument registers)
//
//   The site jumps to the trampoline, which calls `enter` before it carries out the displaced instructions.
//
// SiteKind::kReturn (call-in-place)      handlers: uint64_t enter(argument registers); void exit(result registers)
//
//   The trampoline calls `enter`, always with the site id. If that returns 1, it has pushed a ShadowFrame for the stack slot of
//   the return address: the trampoline then calls the function in place, with arguments on the stack where they were, and
//   `exit` when that has returned. 0: the function runs as if it were not probed.
//
// SiteKind::kInstruction (statement, SDT mark, inlined function: any instruction)     handler: void enter(argument registers)
//
//   All registers and the flags are live. The argument registers have the values that they have there, which only DWARF can
//   interpret; the handler is given no CFA. Runs before the instruction at its address.
//
// SiteKind::kSystemCall (a system call instruction)       handlers: void enter(Registers*), void exit(Registers*)
//
//   kWantsRegisters always. The stack pointer at the call is the program's own, so clone, vfork and rt_sigreturn work, and the
//   return address that the kernel keeps is that of a system call instruction, so that interrupted calls are made again. In a
//   child that clone, fork or vfork has made, exit is called too, and finds that nothing is pending.
//
// SiteKind::kExit (in place of a return instruction; never requested as such)     handler: void exit()
//
//   Runs right before the return instruction.
//
// kReturnsInPlace (kReturn): the function's body is not called; enter, where there is one, is that of a kEntry site, and
// exit one of kExit sites at the function's return instructions. For programs that walk, copy and check their stacks, and so
// must find no return address of ours: Go. There, with kWantsRegisters, handlers run on the stack of the thread rather than
// the goroutine's, which may have no more than a few hundred bytes left (goroutine_stack.h in the engine's arch/).
//
// kWantsRegisters (any kind): before calling enter or exit the trampoline saves a Registers block on the stack and passes its
// address as the only argument; the registers are restored from it afterwards. enter of a kReturn site returns its verdict as
// above. At an entry the CFA is Convention::entry_cfa above the block's stack pointer; in exit it is the stack pointer itself.
// The program counter is that of the probed instruction.
//
// kSwitchable (any kind): before all else the fragment has a gate within one aligned 8-byte word, a nop while the fragment is
// on and a jump over it while it is off; the controller writes the word in one store, at any time, while threads run. Handlers
// `exit` still run for returns that were pending when the gate was closed.
//
// kTouchesStack (any kind): before all else the trampoline reads the stack where its handlers are going to be, and faults there
// if it has no room for them, with all registers but the stack pointer as they are at the site. For programs whose handler
// for SIGSEGV decides by the place of the fault what has happened (engine/shown_faults.h).
//
// Writing to the block (guru: `$a = 3` where $a is in a register, `$return = 5` in exit) takes effect for all registers but
// the stack pointer and the program counter; for flags at kInstruction sites only.

#include <stddef.h>
#include <stdint.h>

#include "abi/machine.h"
#include SPILE_MACHINE_FILE(abi, foreign_calls.h)
#include SPILE_MACHINE_FILE(abi, trampoline.h)

namespace spile::abi {

// kRoom: has no handler: instructions that lead straight to a kExit site behind them, and may be displaced to make room for its
// jump. Requests are for the first three kinds only, and for kSystemCall within the engine.
enum class SiteKind : uint32_t { kEntry, kReturn, kInstruction, kSystemCall, kExit, kRoom };

enum SiteFlags : uint32_t {
  kWantsSiteId = 1,
  kWantsRegisters = 2,
  kSwitchable = 4,
  kReturnsInPlace = 8,
  kTouchesStack = 16,
};

using machine::kEntryCfaOffset;
using machine::kEntrySiteIdCfaOffset;
using machine::kReturnEnterCfaOffset;
using machine::kReturnExitCfaOffset;
using machine::kSiteIdOffset;

// The registers as the probed instruction would see them: an 8-byte word for each number of the machine's registers, up to the
// flags, then the site id. In a stop at a system call, site_id is the call's number.
using machine::Registers;

// Returns the offset in bytes in Registers. REQUIRES: number <= Convention::flags.
constexpr size_t register_offset(size_t number) { return sizeof(uint64_t) * number; }
static_assert(sizeof(Registers) == register_offset(kConvention.flags) + 16);
static_assert(offsetof(Registers, site_id) == register_offset(kConvention.flags) + 8);

inline uint64_t register_by_number(const Registers& registers, size_t number) {
  uint64_t value;
  __builtin_memcpy(&value, reinterpret_cast<const char*>(&registers) + register_offset(number), sizeof value);
  return value;
}
inline uint64_t stack_pointer(const Registers& registers) { return register_by_number(registers, kConvention.stack_pointer); }
inline uint64_t program_counter(const Registers& registers) { return register_by_number(registers, kConvention.program_counter); }

// At a system call instruction: what the call is known by (system_calls.h), and argument `place` from 0 to 5; behind the
// instruction: its result.
inline uint64_t system_call_number(const Registers& registers) {
  return machine::number_of_native_call(register_by_number(registers, kConvention.system_call_number));
}
inline uint64_t system_call_argument(const Registers& registers, size_t place) {
  return register_by_number(registers, kConvention.system_call_arguments.numbers[place]);
}
inline uint64_t system_call_result(const Registers& registers) {
  return register_by_number(registers, kConvention.system_call_result);
}

}  // namespace spile::abi
