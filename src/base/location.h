#pragma once
// How to find a value of a traced program: a program for a stack machine whose entries have 64 bits, as DWARF's location
// expressions are (DWARF 5, section 2.5, whose names are taken where they exist). debuginfo makes such programs from debug
// information, probes adapt them to the probed place, sema asks what they need, and codegen turns them into straight code at
// compile time. Each operation pops its operands and pushes its result; the value on top at the end is the answer.
//
// Sums, differences, products and shifts wrap around, as those of addresses do.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/address.h"

namespace spile::location {

// ---- operations that push a value and pop none

// DW_OP_reg, DW_OP_breg: what a register holds at the probed place; of a vector register, the low 8 bytes. Numbers are those that
// the machine's ABI gives them in DWARF (abi/machine.h). At a function's return, registers of results hold what is returned.
struct Register {
  int64_t number = 0;
  bool operator==(const Register&) const = default;
};

// DW_OP_const, DW_OP_lit.
struct Constant {
  int64_t value = 0;
  bool operator==(const Constant&) const = default;
};

// DW_OP_addr: the run-time address of what the file has at `address`, in the probed module or in the other one that the
// program's owner names (sema::Binding::other_module). The latter is a script error where the process has not loaded it.
struct Address {
  FileAddress address;
  bool in_other_module = false;
  bool operator==(const Address&) const = default;
};

// DW_OP_call_frame_cfa: the canonical frame address of the probed function, the stack pointer before its call.
struct CallFrameCfa {
  bool operator==(const CallFrameCfa&) const = default;
};

// The value of the script's expression in step `step` (from 0) of the path from a variable: the i of $numbers[i].
struct Index {
  uint32_t step = 0;
  bool operator==(const Index&) const = default;
};

// The address that the script itself gives: p in p->next, in @cast(p, "type") and in @uderef(4, p).
struct ScriptPointer {
  bool operator==(const ScriptPointer&) const = default;
};

// The thread's fs base, to which the ABI ties thread-local variables.
struct ThreadPointer {
  bool operator==(const ThreadPointer&) const = default;
};

// At a system call: its number, as the kernel's headers count them.
struct CallNumber {
  bool operator==(const CallNumber&) const = default;
};

// At a function's entry: 1 where the frames of the stack are those that the probe point asks for (sema::Site::callers), else 0.
struct CalledFrom {
  bool operator==(const CalledFrom&) const = default;
};

// At a tracepoint: `bytes` (1, 2, 4, 8) bytes from byte `offset` of its record on, extended to 64 bits as is_signed says.
struct RecordField {
  int64_t offset = 0;
  uint8_t bytes = 8;
  bool is_signed = false;
  bool operator==(const RecordField&) const = default;
};

// ---- operations that pop one entry and push one

// DW_OP_plus_uconst, but for its sign.
struct PlusConstant {
  int64_t value = 0;
  bool operator==(const PlusConstant&) const = default;
};

// DW_OP_deref_size, DW_OP_deref_type: pops an address and pushes the `bytes` (1, 2, 4, 8) bytes of traced memory there, extended
// to 64 bits as is_signed says. A script error where they can't be read.
struct Deref {
  uint8_t bytes = 8;
  bool is_signed = false;
  bool operator==(const Deref&) const = default;
};

// DW_OP_convert to an integer type of `bytes` (1, 2, 4, 8) bytes and back: keeps so many low bytes, extended to 64 bits as
// is_signed says.
struct Convert {
  uint8_t bytes = 8;
  bool is_signed = false;
  bool operator==(const Convert&) const = default;
};

// A bit-field: keeps `bits` bits, of which the lowest is bit `first_bit`, extended to 64 bits as is_signed says.
// first_bit + bits <= 64.
struct BitField {
  uint8_t first_bit = 0;
  uint8_t bits = 64;
  bool is_signed = false;
  bool operator==(const BitField&) const = default;
};

// DW_OP_entry_value of a register: pops the CFA of the frame that the function at `function` has made, and pushes what general
// register `number`, not the stack pointer, held when the function was entered for it. A script error where that was not
// recorded, because the function was entered before it was probed.
struct EntryValue {
  int64_t number = 0;
  FileAddress function;
  bool operator==(const EntryValue&) const = default;
};
// Operands as above; pushes 1 where EntryValue would have a value, else 0.
struct EntryKnown {
  int64_t number = 0;
  FileAddress function;
  bool operator==(const EntryKnown&) const = default;
};

// DW_OP_form_tls_address: pops an offset into the module's thread-local variables and pushes the address that the thread has them
// at. In debuginfo's records only: debuginfo::Module answers with ThreadPointer or ThreadBlock instead.
struct FormTlsAddress {
  bool operator==(const FormTlsAddress&) const = default;
};

// Pops the address of a word that says which module (R_X86_64_DTPMOD64; 0: not yet known) and pushes where the thread has that
// module's thread-local variables. A script error where it has none yet: glibc allocates them late.
struct ThreadBlock {
  bool operator==(const ThreadBlock&) const = default;
};

enum class Unary : uint8_t {
  kAbs,
  kNeg,
  kNot,            // of all bits
  kFloatToDouble,  // the low 4 bytes are a float; pushes the bits of the double of the same value
};

// ---- operations that pop two entries, the right-hand side first, and push one

enum class Binary : uint8_t {
  kPlus,
  kMinus,
  kMul,
  kDiv,  // signed; a script error where the right-hand side is 0
  kMod,  // unsigned; a script error where the right-hand side is 0
  kAnd,
  kOr,
  kXor,
  kShl,   // shifts are by the right-hand side modulo 64
  kShr,   // fills with 0
  kShra,  // fills with the sign
  kEq,    // comparisons are signed and push 1 or 0
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
};

// ---- operations that move entries about

enum class Stack : uint8_t {
  kDup,
  kDrop,
  kSwap,
  kRot,  // the top goes below the two entries under it: a b c becomes c a b
};

// DW_OP_pick: pushes a copy of the entry that is `depth` below the top; 0: of the top.
struct Pick {
  uint8_t depth = 0;
  bool operator==(const Pick&) const = default;
};

using Operation = std::variant<Register, Constant, Address, CallFrameCfa, Index, ScriptPointer, ThreadPointer, CallNumber,
                               CalledFrom, RecordField, PlusConstant, Deref, Convert, BitField, EntryValue, EntryKnown,
                               FormTlsAddress, ThreadBlock, Unary, Binary, Stack, Pick>;
using Operations = std::vector<Operation>;

// Calls the one of `cases` that takes the operation's type, and returns its result. REQUIRES: the cases take all types.
template <typename... Cases>
decltype(auto) visit(const Operation& operation, Cases... cases) {
  struct Overloaded : Cases... {
    using Cases::operator()...;
  };
  return std::visit(Overloaded{std::move(cases)...}, operation);
}

template <typename T>
bool is(const Operation& operation) {
  return std::holds_alternative<T>(operation);
}

// Appends `top += value`, in one operation with a PlusConstant that is there already; nothing where the sum is 0.
void append_offset(Operations& operations, int64_t value);

// Whether sizes and bits are within the bounds that are stated above, every operation finds its operands, and a value is left at
// the end. codegen relies on it. It does not look at numbers of registers and steps, nor for FormTlsAddress.
bool is_well_formed(const Operations& operations);

// Whether the operation can be a script error.
bool can_fail(const Operation& operation);

// Returns one word an operation, different for different operations: "rdi", "rsp +16 deref4s", "&0x4010 deref8 +24 deref8". "&"
// is an Address ("&&": of the other module), the number behind deref and convert is of bytes, and a trailing "s" means signed.
std::string to_string(const Operations& operations);

}  // namespace spile::location
