#include "engine/arch/x86_64/checker_state.h"

#include <algorithm>

namespace spile::engine::x86_64 {
namespace {

constexpr int64_t kDeepestWord = 4096;  // words below are not followed: believed

constexpr Value kLoadedOrNull = {.kind = Kind::kLoaded, .number = kForgottenNull};
constexpr Value kLoadedOrNumber = {.kind = Kind::kMixed, .number = kForgottenNull};

// Reports whether `a` is a number, or read and believed to be an address or a number.
bool is_number_or_loaded(const Value& a) { return a.kind == Kind::kNumber || a.kind == Kind::kLoaded || a.may_be_number(); }

Value join_kinds(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    bool same = a.exact && b.exact && a.number == b.number;
    if (same) return {.kind = a.kind, .exact = true, .number = a.number};
    bool null = (a.is_null() && b.is_null()) || (a.may_be_number() && b.may_be_number());
    return {.kind = a.kind, .number = null ? kForgottenNull : 0};
  }
  if (is_number_or_loaded(a) && is_number_or_loaded(b)) {
    if (a.kind == Kind::kMixed || b.kind == Kind::kMixed) return kLoadedOrNumber;
    const Value& loaded = a.kind == Kind::kLoaded ? a : b;
    const Value& number = a.kind == Kind::kLoaded ? b : a;
    if (number.is_null()) return loaded.may_be_number() ? kLoadedOrNull : value_of(Kind::kLoaded);
    return loaded.may_be_number() ? value_of(Kind::kNumber) : kLoadedOrNumber;
  }
  // No address is what null pointers are made of: whoever uses one has looked first.
  if (a.is_null() || a.kind == Kind::kUnused) return value_of(b.kind);
  if (b.is_null() || b.kind == Kind::kUnused) return value_of(a.kind);
  if (a.is_ours() && b.is_ours()) return value_of(Kind::kLoaded);
  auto readable = [](const Value& value) { return value.is_ours() || value.kind == Kind::kImage; };
  if (readable(a) && readable(b)) return value_of(Kind::kImage);
  if (readable(a) || readable(b) || a.kind == Kind::kMixed || b.kind == Kind::kMixed) return value_of(Kind::kMixed);
  return value_of(Kind::kTraced);
}

int64_t wrapping(int64_t a, int64_t b, bool subtract) {
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(subtract ? x - y : x + y);
}

// The same, but for which number it is.
Value forget(const Value& value) {
  if (value.kind != Kind::kNumber || !value.exact) return value;
  return {.kind = Kind::kNumber, .origin = value.origin, .number = value.is(0) ? kForgottenNull : 0};
}

}  // namespace

Value join(const Value& a, const Value& b) {
  if (a == b || b.kind == Kind::kNothing) return a;
  if (a.kind == Kind::kNothing) return b;
  Value joined = join_kinds(a, b);
  joined.origin = a.origin == b.origin ? a.origin : int8_t{-1};
  return joined;
}

Value add(const Value& a, const Value& b, bool subtract) {
  bool exact = a.exact && b.exact;
  auto sum = [&](Kind kind) {
    return Value{.kind = kind, .exact = exact, .number = exact ? wrapping(a.number, b.number, subtract) : 0};
  };
  auto is_place = [](const Value& value) { return value.kind == Kind::kFrame || value.kind == Kind::kSaved; };
  auto is_base = [&](const Value& v) { return is_place(v) || v.kind == Kind::kArena || v.kind == Kind::kImage; };
  if (b.is(0)) return Value{.kind = a.kind, .exact = a.exact, .number = a.number};
  if (b.kind == Kind::kNumber && (a.kind == Kind::kNumber || is_place(a))) return sum(a.kind);
  if (a.kind == Kind::kNumber && is_place(b) && !subtract) return sum(b.kind);
  if (is_base(a) && is_base(b)) return value_of(Kind::kNumber);  // a distance
  if (is_base(a)) return value_of(a.kind);
  if (is_base(b)) return value_of(subtract ? Kind::kNumber : b.kind);
  // A number minus a loaded value is not an address: a length minus the position at which a text begins.
  if (subtract && a.kind == Kind::kNumber && b.kind == Kind::kLoaded) return value_of(Kind::kNumber);
  if (is_number_or_loaded(a) && is_number_or_loaded(b)) {
    const bool mixed = a.kind == Kind::kMixed || b.kind == Kind::kMixed;
    if (subtract && b.may_be_number() && a.kind == Kind::kNumber) return value_of(Kind::kNumber);
    if (subtract && a.kind == Kind::kMixed) return kLoadedOrNumber;
    const bool address = (a.kind == Kind::kLoaded && !a.may_be_number()) || (b.kind == Kind::kLoaded && !b.may_be_number());
    return address ? value_of(Kind::kLoaded) : mixed ? kLoadedOrNumber : kLoadedOrNull;
  }
  if (a.kind == Kind::kMixed || b.kind == Kind::kMixed) return value_of(Kind::kMixed);
  auto strange = [](const Value& value) { return value.kind == Kind::kTraced || value.kind == Kind::kUnused; };
  if (strange(a) || strange(b)) return value_of(Kind::kTraced);
  return value_of(Kind::kLoaded);
}

Value truncate(const Value& value, unsigned bits) {
  if (bits >= 64) return value;
  if (value.kind != Kind::kNumber || !value.exact) return value_of(Kind::kNumber);
  return exactly(static_cast<int64_t>(static_cast<uint64_t>(value.number) & ((uint64_t{1} << bits) - 1)));
}

bool State::join_with(const State& other) {
  bool changed = false;
  auto bring = [&](Value& mine, const Value& theirs) {
    Value joined = join(mine, theirs);
    changed |= !(joined == mine);
    mine = joined;
  };
  for (size_t i = 0; i < 16; i++) bring(registers[i], other.registers[i]);
  // A word that one path has not stored to holds anything there, and is not read, or was filled through a pointer.
  if (frame.size() < other.frame.size()) frame.resize(other.frame.size());
  for (size_t i = 0; i < frame.size(); i++) {
    bool both = i < other.frame.size() && other.frame[i].kind != Kind::kNothing && frame[i].kind != Kind::kNothing;
    if (both) bring(frame[i], other.frame[i]);
    else bring(frame[i], forget(i < other.frame.size() ? join(frame[i], other.frame[i]) : frame[i]));
  }
  return changed;
}

Value State::load_frame(int64_t place, unsigned bits) const {
  int64_t word = place < 0 ? (-place - 1) / 8 : -1;
  if (word < 0 || word >= static_cast<int64_t>(frame.size()) || frame[static_cast<size_t>(word)].kind == Kind::kNothing) {
    return value_of(bits == 64 ? Kind::kLoaded : Kind::kNumber);
  }
  const Value& value = frame[static_cast<size_t>(word)];
  if (place % 8 != 0) return value_of(value.kind >= Kind::kMixed && bits == 64 ? Kind::kTraced : Kind::kNumber);
  if (bits == 64 && !value.exact && value.is_null()) {
    // Filled through a pointer, if at all; else it is the register that was saved there.
    Value filled = kLoadedOrNull;
    filled.origin = value.origin;
    return filled;
  }
  return truncate(value, bits);
}

void State::store_frame(int64_t place, unsigned bits, const Value& value) {
  if (place >= 0 || -place > 8 * kDeepestWord) return;
  size_t word = static_cast<size_t>((-place - 1) / 8);
  if (word >= frame.size()) frame.resize(word + 1);
  if (place % 8 == 0 && bits == 64) {
    frame[word] = value;
    return;
  }
  // A part of a word, or of two.
  Value part = value_of(value.kind >= Kind::kMixed && !value.may_be_number() ? Kind::kTraced : Kind::kNumber);
  frame[word] = part;
  if (bits / 8 > 8 - static_cast<uint64_t>(place & 7) && word > 0) frame[word - 1] = part;
}

void State::forget_numbers() {
  for (Value& value : frame) value = forget(value);
}

}  // namespace spile::engine::x86_64
