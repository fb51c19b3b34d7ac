#pragma once
// What the checker (checker.h) knows of registers and of the words of a function's frame at one place of a compiled handler.
// "Ours" are the handler's own frame, and memory that spile has mapped into the process. "Entry" is that of the function that the
// place is in.

#include <array>
#include <cstdint>
#include <vector>

#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

enum class Kind : uint8_t {
  kNothing,  // no path has come here yet
  kUnused,   // what a register without an argument held at the entry; believed to be saved and restored at most
  kNumber,   // not an address: a constant, or the result of arithmetic
  kFrame,    // an address in the stack
  kArena,    // an address in the arena, the process table or the list of code regions
  kSaved,    // an address in the traced registers that a trampoline has saved
  kLoaded,   // read from our memory, or an address of ours whose kind depends on the path: believed to be an address of ours
  kImage,    // an address in the image, or on some paths of ours: loads are allowed, stores are not
  kMixed,    // an address of ours, or in the image, on some paths only: loads are allowed, stores are not
  kTraced,   // chosen by the traced program: an argument, or what was read through a kTraced address
};

// Value::number of a kNumber that is not exact, if it was 0 until a call, or a store to an unknown place of the frame, may have
// changed it. So is that of a kLoaded that was read from such a place, and that of a kMixed that is a kLoaded or a kNumber: what
// is added to an address, in a function that some callers give a constant and others what they have read.
inline constexpr int64_t kForgottenNull = 1;

struct Value {
  Kind kind = Kind::kNothing;
  bool exact = false;  // `number` is known
  int8_t origin = -1;  // the register (a Gpr) whose value at the entry this still is; -1: of none
  // If exact: the number of a kNumber; of a kFrame, bytes above rsp at the entry; of a kSaved, bytes above the begin of the
  // registers.
  int64_t number = 0;
  bool operator==(const Value&) const = default;

  bool is(int64_t exactly) const { return kind == Kind::kNumber && exact && number == exactly; }
  // Reports whether it is 0, or kForgottenNull.
  bool is_null() const { return kind == Kind::kNumber && number == (exact ? 0 : kForgottenNull); }
  // Reports whether it may as well be a number: a kLoaded or kMixed with kForgottenNull.
  bool may_be_number() const { return (kind == Kind::kLoaded || kind == Kind::kMixed) && number == kForgottenNull; }
  bool is_ours() const { return kind == Kind::kFrame || kind == Kind::kArena || kind == Kind::kSaved || kind == Kind::kLoaded; }
};
constexpr Value value_of(Kind kind) { return {.kind = kind}; }
constexpr Value exactly(int64_t number) { return {.kind = Kind::kNumber, .exact = true, .number = number}; }
constexpr Value frame_at(int64_t place) { return {.kind = Kind::kFrame, .exact = true, .number = place}; }

// Returns what is known of a value that is `a` on one path and `b` on another. A null pointer joined with an address is that kind
// of address: code that uses the pointer has compared it with 0.
Value join(const Value& a, const Value& b);
// Returns what is known of a + b, or of a - b.
Value add(const Value& a, const Value& b, bool subtract = false);
// Returns what is known of the lowest `bits` bits of a value, extended by zeros: if some are cut off, a number.
Value truncate(const Value& value, unsigned bits);

struct State {
  std::array<Value, 16> registers;  // by Gpr
  std::vector<Value> frame;  // words of 8 bytes below rsp at the entry: [0] is at -8. kNothing: no store to the word was seen
  uint32_t function = 0;     // the function's entry: offset in the image

  // Joins each register and word with that of a state in which another path comes here. Returns whether anything changed.
  bool join_with(const State& other);
  // Returns what a load of `bits` bits at `place`, in bytes from rsp at the entry, yields. A word to which no store was seen, or
  // that lies at or above the entry's rsp, yields kLoaded if all 64 bits are read, else kNumber.
  Value load_frame(int64_t place, unsigned bits) const;
  // Notes a store. Does nothing to places at or above the entry's rsp, and to those more than 32 KiB below it.
  void store_frame(int64_t place, unsigned bits, const Value& value);
  // Notes that a call, or a store to an unknown place, may have changed the frame: all exact numbers in it become inexact.
  void forget_numbers();
};

}  // namespace spile::engine::x86_64
