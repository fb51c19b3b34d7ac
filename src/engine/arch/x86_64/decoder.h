#pragma once
// One x86-64 instruction, as far as patching cares. Zydis stays behind this header. Offsets and lengths are in bytes, offsets
// from the instruction's begin. Any thread.

#include <cstdint>
#include <optional>
#include <span>

namespace spile::engine::x86_64 {

enum class Flow : uint8_t {
  kNext,          // goes on behind itself
  kJump,          // jmp rel8, rel32
  kConditional,   // jcc rel8, rel32
  kCounted,       // loop, loope, loopne, jrcxz: rel8 only
  kCall,          // call rel32
  kIndirectCall,  // call r/m64
  kLeaves,        // ret, jmp r/m64, ud2, hlt: does not go on behind itself
  kBreakpoint,    // int3
  kUnmovable,     // can't be carried out elsewhere: xbegin, far transfers
};

struct Instruction {
  uint8_t length = 0;
  Flow flow = Flow::kNext;
  bool nop = false;                   // any form of nop
  bool end_branch = false;            // endbr64
  bool indirect_jump = false;         // kLeaves: jmp r/m64
  bool by_table = false;              // kLeaves: jmp to a register, or through memory with an index
  bool uses_stack_pointer = false;    // kIndirectCall: its operand reads rsp
  uint8_t condition = 0;              // kConditional: the low 4 bits of the opcode
  uint8_t opcode_offset = 0;          // of the (one-byte) opcode of kCounted and kIndirectCall
  uint8_t rip_displacement = 0;       // offset of a disp32 relative to rip; 0: none
  uint8_t absolute_displacement = 0;  // offset of a disp32 that stands without base register; 0: none
  int64_t relative = 0;               // direct branches: target minus the end of the instruction
};

// Decodes the first instruction of `bytes`, behind which others may follow. Empty if the bytes do not begin with a whole
// instruction.
std::optional<Instruction> decode(std::span<const uint8_t> bytes);

// What an instruction does with the stack and the return address on it.
struct StackUse {
  Instruction instruction;
  int64_t change = 0;                    // bytes added to rsp, but not by calls and returns; undefined with unknown_change
  bool unknown_change = false;           // rsp gets a value that the instruction alone does not determine
  bool frame_set = false;                // mov %rsp, %rbp
  bool frame_lost = false;               // rbp gets another value
  std::optional<int64_t> from_frame;     // unknown_change: rsp gets rbp and this
  std::optional<int64_t> limit;          // lea disp(%rsp), another register: where a loop that probes the stack ends
  std::optional<int64_t> stack_operand;  // a memory operand disp(%rsp), without index
  std::optional<int64_t> frame_operand;  // disp(%rbp), without index
};
// Decodes as decode() does.
std::optional<StackUse> decode_stack_use(std::span<const uint8_t> bytes);

}  // namespace spile::engine::x86_64
