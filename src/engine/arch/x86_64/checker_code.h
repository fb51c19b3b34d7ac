#pragma once
// An image's instructions as the checker wants them: each decoded once, small, by offset in the image.

#include <Zydis/Zydis.h>

#include <cstdint>
#include <span>
#include <vector>

#include "abi/code_image.h"

namespace spile::engine::x86_64 {

inline constexpr uint8_t kNoRegister = 0xff, kRip = 0xfe, kFlags = 0xfd, kOtherRegister = 0xfc;  // else 0..15, a Gpr

struct CheckedOperand {
  enum Type : uint8_t { kRegister, kMemory, kImmediate };
  Type type;
  bool reads, writes;
  bool hidden = false;                                         // not written by the assembler: push's stack
  bool high_byte = false;                                      // kRegister: ah, bh, ch, dh
  bool own_segment = false;                                    // kMemory: relative to fs or gs
  bool computes = false;                                       // kMemory: lea's, which touches nothing
  uint8_t base = kNoRegister, index = kNoRegister, scale = 0;  // kMemory; kRegister has its number in base
  uint16_t size = 0;                                           // bits
  int64_t value = 0;                                           // displacement or immediate
};

struct CheckedInstruction {
  ZydisMnemonic mnemonic;
  uint32_t first_operand;
  uint8_t operand_count, length;
  bool listed;       // in the checker's list, and in a form that it knows
  bool conditional;  // a branch
  bool moves_if;     // cmovcc
  bool string;       // movs, stos
  int64_t target;    // of a direct branch or call: offset in the image; -1: of any other instruction
};

// Decodes instructions of one image when they are asked for. For one thread.
class CheckedCode {
 public:
  // REQUIRES: the image outlives this object; code_begin <= code_end <= bytes.size().
  explicit CheckedCode(const abi::CodeImage& image);
  // Returns the instruction at `offset`. Null: the bytes there are not an instruction. The pointer is good until the next call,
  // as are operands(). REQUIRES: code_begin <= offset < code_end.
  const CheckedInstruction* at(uint32_t offset);
  // Explicit operands first, as Zydis has them.
  std::span<const CheckedOperand> operands(const CheckedInstruction& instruction) const {
    return {&operands_[instruction.first_operand], instruction.operand_count};
  }

 private:
  bool decode(uint32_t offset);

  const abi::CodeImage& image_;
  ZydisDecoder decoder_;
  std::vector<int32_t> index_;  // by offset from code_begin: into instructions_; -1: not decoded yet; -2: no instruction
  std::vector<CheckedInstruction> instructions_;
  std::vector<CheckedOperand> operands_;
};

}  // namespace spile::engine::x86_64
