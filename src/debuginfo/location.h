#pragma once
// Where a value lives, as a small stack program: DWARF location expressions (DWARF 5, section 2.5) and paths such as
// `->next->value` compiled to operations that a code generator can lower one by one. Values on the stack are 64-bit.
//
// Register numbers are DWARF's for x86-64 (psABI, figure 3.36):
//   0 rax  1 rdx  2 rcx  3 rbx  4 rsi  5 rdi  6 rbp  7 rsp  8-15 r8-r15  16 return address (never produced here)
//   17-32 xmm0-xmm15, of which 64 bits are read

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "debuginfo/type.h"

namespace spile::debuginfo {

enum class Opcode : uint8_t {
  kRegister,  // push register `value`
  kConstant,  // push `value`
  kAddress,   // push the file address `value` plus the module's load bias
  kIndex,     // push the caller's index number `value` (see Step::kDynamicIndex)
  kOffset,    // top += value
  kEntryValue,  // pop the CFA; push what register `value` held when the function that has the frame was entered
  kThreadPointer,  // push the fs base of the thread
  kThreadBlock,    // pop the address of a word that says which module (R_X86_64_DTPMOD64; 0: not yet known); push where
                   // the thread has that module's thread-local variables. It may have none yet (glibc allocates late)
  kThreadLocal,    // pop an offset into the module's thread-local variables, push the address that the thread has them at;
                   // only in records: Module says it by the two above
  kDeref,     // pop an address, push the `size` (1, 2, 4, 8) bytes of traced memory there, extended as is_signed says
  kExtend,    // keep the top's low `size` bytes (1, 2, 4, 8), extended to 64 bits as is_signed says
  kExtract,   // keep `size` bits of the top starting at bit `value`, extended as is_signed says; size + value <= 64
  // clang-format off
  // Pop two, push one; the one pushed last is the right-hand side.
  kAdd, kSub, kMul, kDiv /* signed */, kMod /* unsigned */, kAnd, kOr, kXor, kShl, kShr, kShra,
  kEq, kNe, kLt, kLe, kGt, kGe,  // signed; push 1 or 0
  kNeg, kNot, kAbs,              // change the top
  kDup, kDrop, kSwap, kRot,      // as DWARF's
  kPick,                         // push a copy of the entry `value` below the top (0: the top)
  kWiden,                        // the top's low 4 bytes are a float: it becomes the bits of the double of that value
  // clang-format on
};

struct Operation {
  Opcode opcode;
  bool is_signed = false;
  uint8_t size = 0;  // bytes; bits for kExtract
  int64_t value = 0;

  bool operator==(const Operation&) const = default;
};
using Operations = std::vector<Operation>;

// Appends `top += by`, in one operation with an offset that is there already. Wraps around, as addresses do.
void append_offset(Operations& operations, int64_t by);

// One word an operation: "rdi", "rsp +16 load4s", "&0x4010 load8 +24 load4": for -v, listings and tests. "&" is a file
// address, "loadN" kDeref and "extN" kExtend of N bytes, a trailing "s" means signed.
std::string to_string(const Operations& operations);

// A part of an object that the compiler keeps in several places.
struct Piece {
  enum class Kind : uint8_t { kMissing, kMemory, kValue };
  Kind kind = Kind::kMissing;
  uint32_t size = 0;  // bytes
  Operations operations;
};

// Where an object is at one program counter. Registers are those of that moment.
struct Place {
  enum class Kind : uint8_t {
    kUnavailable,  // reason says why, as a phrase behind the variable's name: "is optimized out"
    kMemory,       // operations leave the object's address
    kValue,   // operations leave the object itself in the low bytes (the upper ones are garbage); it has no address
    kPieces,  // each of pieces, in order of their bytes in the object
  };
  Kind kind = Kind::kUnavailable;
  std::string reason;
  Operations operations;
  std::vector<Piece> pieces;
  Type type;
  // A bit-field: bit_size bits, starting bit_offset bits into the place. bit_size is 0 for everything else.
  uint32_t bit_offset = 0;
  uint32_t bit_size = 0;

  bool available() const { return kind != Kind::kUnavailable; }
};

}  // namespace spile::debuginfo
