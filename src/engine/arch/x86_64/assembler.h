#pragma once
// Appends the few instructions that trampolines are made of to a byte vector. Every method names its encoding. Operands have 64
// bits, displacements and offsets are in bytes.

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "base/address.h"

namespace spile::engine::x86_64 {

// psABI register numbers as ModRM encodes them.
enum Gpr : uint8_t { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8, kR9, kR10, kR11, kR12, kR13, kR14, kR15 };

// Flags of the program's that would hit handlers: the alignment check (AC), and the trap behind each instruction (TF).
inline constexpr uint32_t kAlignmentCheck = 1u << 18, kTrapFlag = 1u << 8, kCheckingFlags = kAlignmentCheck | kTrapFlag;

class Assembler {
 public:
  // Code is meant to run at `at`.
  explicit Assembler(Address at) : at_(at) {}

  // Where the next byte is appended: from the code's begin, and as a run-time address.
  uint32_t offset() const { return static_cast<uint32_t>(code_.size()); }
  Address here() const { return at_ + static_cast<int64_t>(code_.size()); }
  // Whether a relative field did not reach: the code must not be used then.
  bool out_of_reach() const { return out_of_reach_; }
  // Returns the code, and leaves the assembler without any: the last call.
  std::vector<uint8_t> take() { return std::move(code_); }

  void bytes(std::initializer_list<uint8_t> values) { code_.insert(code_.end(), values); }
  void bytes(std::span<const uint8_t> values) { code_.insert(code_.end(), values.begin(), values.end()); }
  // The low 32 bits.
  void imm32(int64_t value) {
    uint32_t low = static_cast<uint32_t>(value);
    uint8_t raw[4];
    std::memcpy(raw, &low, 4);
    bytes(std::span<const uint8_t>(raw, 4));
  }
  // The last four bytes of an instruction: target relative to its end.
  void rel32(Address target) {
    int64_t distance = target - (here() + 4);
    if (distance != static_cast<int32_t>(distance)) out_of_reach_ = true;
    imm32(distance);
  }

  void call(Address target) {
    bytes({0xe8});
    rel32(target);
  }  // e8 rel32
  void jump(Address target) {
    bytes({0xe9});
    rel32(target);
  }  // e9 rel32
  void jump_if(uint8_t condition, Address target) {  // 0f 8x rel32
    bytes({0x0f, static_cast<uint8_t>(0x80 | condition)});
    rel32(target);
  }
  void jump_near_if(uint8_t condition, int8_t distance) {  // 7x rel8
    bytes({static_cast<uint8_t>(0x70 | condition), static_cast<uint8_t>(distance)});
  }
  void push_imm32(int32_t value) {
    bytes({0x68});
    imm32(value);
  }  // 68 imm32, sign-extended
  void push(Gpr reg) {
    if (reg >= 8) bytes({0x41});
    bytes({static_cast<uint8_t>(0x50 | (reg & 7))});
  }  // 5x
  void pop(Gpr reg) {
    if (reg >= 8) bytes({0x41});
    bytes({static_cast<uint8_t>(0x58 | (reg & 7))});
  }
  // Pushes a 64-bit constant; keeps flags and registers.
  void push_address(Address value) {
    push_imm32(static_cast<int32_t>(value.value));
    if (static_cast<int64_t>(value.value) == static_cast<int32_t>(value.value)) return;
    bytes({0xc7, 0x44, 0x24, 0x04});  // movl $high, 4(%rsp)
    imm32(static_cast<int64_t>(value.value >> 32));
  }
  void adjust_stack(int32_t by) {  // lea by(%rsp), %rsp: keeps flags
    if (by == static_cast<int8_t>(by)) {
      bytes({0x48, 0x8d, 0x64, 0x24, static_cast<uint8_t>(by)});
    } else {
      bytes({0x48, 0x8d, 0xa4, 0x24});
      imm32(by);
    }
  }
  void store(Gpr reg, int32_t displacement) { stack_access(0x89, reg, displacement); }          // mov reg, disp(%rsp)
  void load(Gpr reg, int32_t displacement) { stack_access(0x8b, reg, displacement); }           // mov disp(%rsp), reg
  void stack_address(Gpr reg, int32_t displacement) { stack_access(0x8d, reg, displacement); }  // lea disp(%rsp), reg
  void store_imm32(int32_t value, int32_t displacement) {                                       // movq $value, disp(%rsp)
    bytes({0x48, 0xc7, 0x84, 0x24});
    imm32(displacement);
    imm32(value);
  }
  void code_address(Gpr reg, Address target) {  // lea target(%rip), reg
    bytes({static_cast<uint8_t>(0x48 | (reg >= 8 ? 4 : 0)), 0x8d, static_cast<uint8_t>(0x05 | (reg & 7) << 3)});
    rel32(target);
  }
  void move(Gpr from, Gpr to) {  // mov from, to
    bytes({static_cast<uint8_t>(0x48 | (from >= 8 ? 4 : 0) | (to >= 8 ? 1 : 0)), 0x89,
           static_cast<uint8_t>(0xc0 | (from & 7) << 3 | (to & 7))});
  }

  // Clears kCheckingFlags if the flags that were saved at `saved`(%rsp) have them: popfq takes tens of cycles, and programs set
  // them hardly ever. The other flags are lost.
  void clear_checking_flags(int32_t saved) {
    bytes({0xf7, 0x84, 0x24});  // testl $flags, saved(%rsp)
    imm32(saved);
    imm32(kCheckingFlags);
    jump_near_if(4, 9);               // je behind the rest
    bytes({0x9c, 0x81, 0x24, 0x24});  // pushfq; andl $~flags, (%rsp)
    imm32(~int64_t{kCheckingFlags});
    bytes({0x9d});  // popfq
  }

  void align(uint32_t to, uint32_t room) {  // nops, until `room` (at most `to`) bytes fit before the next multiple of `to`
    while (here().value % to + room > to) bytes({0x90});
  }
  // REQUIRES: 8 bytes have been appended from `offset` on.
  uint64_t word_at(uint32_t offset) const {
    uint64_t word;
    std::memcpy(&word, &code_[offset], sizeof word);
    return word;
  }

  // A forward branch: emit with here() as target, then aim the 4 bytes that end at `end` at the present place.
  void aim_here(uint32_t end) {
    int32_t distance = static_cast<int32_t>(code_.size() - end);
    std::memcpy(&code_[end - 4], &distance, 4);
  }
  // The same for the byte that ends at `end`. REQUIRES: the distance fits.
  void aim_near_here(uint32_t end) { code_[end - 1] = static_cast<uint8_t>(code_.size() - end); }

 private:
  void stack_access(uint8_t opcode, Gpr reg, int32_t displacement) {
    bytes({static_cast<uint8_t>(0x48 | (reg >= 8 ? 4 : 0)), opcode, static_cast<uint8_t>(0x84 | (reg & 7) << 3), 0x24});
    imm32(displacement);
  }

  Address at_;
  std::vector<uint8_t> code_;
  bool out_of_reach_ = false;
};

}  // namespace spile::engine::x86_64
