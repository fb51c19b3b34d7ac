#pragma once
// What the checker knows of registers and of the words of a function's frame at one place of the code.

#include <array>
#include <cstdint>
#include <vector>

#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

enum class Kind : uint8_t {
  kNothing,  // no path has come here yet
  kUnused,   // in no argument's register when a function was entered: nothing to read, believed to be used by nobody
  kNumber,   // no address: a constant, or the result of arithmetic
  kFrame,    // an address in the stack
  kOwn,      // an address in the arena or the process table
  kSaved,    // an address in the traced registers that a trampoline has saved
  kLoaded,   // read from our own memory, or ours on all paths, though not of one kind: believed to be ours
  kImage,    // an address in the image: to be read
  kMixed,    // ours on some paths only: believed in loads
  kTraced,   // what the traced program chose: an argument, something read through such a value
};

inline constexpr int64_t kForgottenNull = 1;  // in the number of a kNumber that is not exact

struct Value {
  Kind kind = Kind::kNothing;
  bool exact = false;  // kNumber: is `number`; kFrame, kSaved: lies `number` above the entry's rsp, the block's start
  int8_t origin = -1;  // the register whose value at the function's entry this still is
  int64_t number = 0;
  bool operator==(const Value&) const = default;

  bool is(int64_t exactly) const { return kind == Kind::kNumber && exact && number == exactly; }
  // No address, or what had been none before something unknown was stored.
  bool is_null() const { return kind == Kind::kNumber && number == (exact ? 0 : kForgottenNull); }
  bool is_ours() const {
    return kind == Kind::kFrame || kind == Kind::kOwn || kind == Kind::kSaved || kind == Kind::kLoaded;
  }
};
constexpr Value value_of(Kind kind) {
  return {.kind = kind};
}
constexpr Value exactly(int64_t number) {
  return {.kind = Kind::kNumber, .exact = true, .number = number};
}
constexpr Value frame_at(int64_t place) {
  return {.kind = Kind::kFrame, .exact = true, .number = place};
}

Value join(const Value& a, const Value& b);
// a + b, or a - b.
Value add(const Value& a, const Value& b, bool subtract = false);
// What is left of a value in `bits` bits.
Value truncate(const Value& value, unsigned bits);

struct State {
  std::array<Value, 16> registers;
  std::vector<Value> frame;  // words below the entry's rsp: [0] is at -8. Those never stored to are kNothing
  uint32_t function = 0;

  // True if that brought something new.
  bool join_with(const State& other);
  Value load_frame(int64_t place, unsigned bits) const;
  void store_frame(int64_t place, unsigned bits, const Value& value);
  // Somebody may have stored somewhere into the frame: numbers in it are not known any more.
  void forget_numbers();
};

}  // namespace spile::engine::x86_64
