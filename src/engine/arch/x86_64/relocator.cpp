#include "engine/arch/x86_64/relocator.h"

#include <cstring>

namespace spile::engine::x86_64 {
namespace {

// Appends the instruction's bytes, with its rip-relative operand aimed at its original target.
void copy(const Instruction& instruction, std::span<const uint8_t> bytes, Address from, Assembler& out) {
  if (instruction.rip_displacement == 0) return out.bytes(bytes);
  size_t at = instruction.rip_displacement;
  int32_t displacement;
  std::memcpy(&displacement, &bytes[at], 4);
  Address target = from + instruction.length + displacement;
  out.bytes(bytes.first(at));
  // An immediate may stand between the displacement and the end, which the displacement counts from.
  int64_t behind = instruction.length - static_cast<int64_t>(at) - 4;
  out.rel32(target - behind);
  out.bytes(bytes.subspan(at + 4));
}

Result<void> relocate_indirect_call(const Instruction& instruction, std::span<const uint8_t> bytes, Address from,
                                    Assembler& out) {
  if (instruction.uses_stack_pointer) return Error{"an indirect call through the stack pointer can't be moved", ""};
  out.push_address(from + instruction.length);
  std::vector<uint8_t> jump(bytes.begin(), bytes.end());
  // ff /2 (call r/m64) and ff /4 (jmp r/m64) differ in the middle field of ModRM.
  uint8_t& modrm = jump[instruction.opcode_offset + 1];
  modrm = static_cast<uint8_t>((modrm & 0xc7) | 4 << 3);
  copy(instruction, jump, from, out);
  return {};
}

}  // namespace

Result<void> relocate(const Instruction& instruction, std::span<const uint8_t> bytes, Address from, Assembler& out) {
  Address end = from + instruction.length;
  Address target = end + instruction.relative;
  switch (instruction.flow) {
    case Flow::kNext:
    case Flow::kLeaves: copy(instruction, bytes, from, out); break;
    case Flow::kJump: out.jump(target); break;
    case Flow::kConditional: out.jump_if(instruction.condition, target); break;
    case Flow::kCounted:
      // loop 1f; jmp 2f; 1: jmp target; 2:
      out.bytes(bytes.first(instruction.opcode_offset + 1));
      out.bytes({0x02, 0xeb, 0x05});
      out.jump(target);
      break;
    case Flow::kCall:
      out.push_address(end);
      out.jump(target);
      break;
    case Flow::kIndirectCall: return relocate_indirect_call(instruction, bytes, from, out);
    case Flow::kBreakpoint: return Error{"a breakpoint is set there", "another debugger or tracer is at work on this code"};
    case Flow::kUnmovable: return Error{"the instruction depends on its own address and can't be moved", ""};
  }
  if (out.out_of_reach()) return Error{"an operand is out of reach of a trampoline", ""};
  return {};
}

}  // namespace spile::engine::x86_64
