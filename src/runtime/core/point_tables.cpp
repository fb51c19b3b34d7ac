// Variables of a point whose handler it shares with others: places are read from tables (abi/point_tables.h).

#include "abi/point_tables.h"

#include "abi/script_codes.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

constexpr uint32_t kTop = abi::kPlaceStack - 1;

SPILE_INLINE inline uint64_t extended(uint64_t value, uint64_t step) {
  const uint32_t bits = (step >> 8) & 0xff, first = (step >> 24) & 63;
  value >>= first;
  if (bits == 0 || bits >= 64) return value;
  const uint32_t unused = 64 - bits;
  value <<= unused;
  return step & 1u << 16 ? static_cast<uint64_t>(static_cast<int64_t>(value) >> unused) : value >> unused;
}

// The bits of a double, from those of the float of the same value: as codegen's Arithmetic::widen_float.
[[gnu::noinline]] uint64_t widened(uint64_t bits) {
  const uint64_t sign = (bits & 0x80000000) << 32, size = bits & 0x7fffffff, shifted = size << 29;
  if (size >= 0x7f800000) return sign | shifted | uint64_t{0x7ff} << 52;
  if (size >= 0x800000) return sign | (shifted + (uint64_t{1023 - 127} << 52));
  if (size == 0) return sign;
  const uint64_t zeros = static_cast<uint64_t>(__builtin_clzll(size));
  return sign | (63 + 1023 - 149 - zeros) << 52 | (size << (zeros - 11) & ((uint64_t{1} << 52) - 1));
}

// Returns x OP y. False: the operation has no result.
[[gnu::noinline]] bool combine(uint32_t op, uint64_t x, uint64_t y, uint64_t* result) {
  const auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);
  *result = 0;
  switch (op) {
    case 0: *result = x + y; return true;
    case 1: *result = x - y; return true;
    case 2: *result = x * y; return true;
    case 3:
      if (b == 0) return false;
      *result = b == -1 ? 0 - x : static_cast<uint64_t>(a / b);
      return true;
    case 4:
      if (y == 0) return false;
      *result = x % y;
      return true;
    case 5: *result = x & y; return true;
    case 6: *result = x | y; return true;
    case 7: *result = x ^ y; return true;
    case 8: *result = x << (y & 63); return true;
    case 9: *result = x >> (y & 63); return true;
    case 10: *result = static_cast<uint64_t>(a >> (y & 63)); return true;
    case 11: *result = a == b; return true;
    case 12: *result = a != b; return true;
    case 13: *result = a < b; return true;
    case 14: *result = a <= b; return true;
    case 15: *result = a > b; return true;
    case 16: *result = a >= b; return true;
    default: return false;
  }
}

}  // namespace

extern "C" {

[[gnu::noinline]] bool spile_rt_point_value(Context* context, const uint64_t* values, const uint64_t* place, int64_t* result) {
  uint64_t stack[abi::kPlaceStack];
  uint64_t top = 0;  // of the stack; the entries below it are stack[depth - 1] and down
  uint32_t depth = 0;
  uint32_t steps = abi::steps_of(place[0]);
  if (steps > abi::kMostPlaceSteps) steps = abi::kMostPlaceSteps;
  for (uint32_t i = 0; i < steps; ++i) {
    const uint64_t step = place[1 + 2 * i], operand = place[2 + 2 * i];
    const uint32_t kind = step & 0xff;
    if (kind <= abi::kPushConstant) {
      stack[depth++ & kTop] = top;
      top = kind == abi::kPushValue ? values[operand & (abi::kPointValues - 1)] : operand;
    } else if (kind == abi::kAddConstant) {
      top += operand;
    } else if (kind == abi::kLoad) {
      int64_t word;
      *result = static_cast<int64_t>(top);  // what could not be read
      if (!spile_rt_load(context, top, (step >> 8) & 0xff, step & 1u << 16, &word)) return false;
      top = static_cast<uint64_t>(word);
    } else if (kind == abi::kExtend) {
      top = extended(top, step);
    } else if (kind == abi::kEntryValue) {
      *result = 0;
      if constexpr (kIsKernel) return false;  // no place there has one (probes/kernel/start_place.cpp)
      uint64_t word;
      if (!spile_rt_entry_value(context, top, operand & 0xffffffff, static_cast<uint32_t>(operand >> 32), &word)) return false;
      top = word;
    } else if (kind == abi::kAbsolute) {
      top = static_cast<int64_t>(top) < 0 ? 0 - top : top;
    } else if (kind == abi::kNegate) {
      top = 0 - top;
    } else if (kind == abi::kInvert) {
      top = ~top;
    } else if (kind == abi::kWiden) {
      top = widened(top);
    } else if (kind <= abi::kBinaryEnd) {
      *result = 0;
      if (!combine(kind - abi::kBinary, stack[--depth & kTop], top, &top)) return false;
    } else if (kind == abi::kDuplicate) {
      stack[depth++ & kTop] = top;
    } else if (kind == abi::kDrop) {
      top = stack[--depth & kTop];
    } else if (kind == abi::kSwap) {
      const uint64_t below = stack[(depth - 1) & kTop];
      stack[(depth - 1) & kTop] = top;
      top = below;
    } else if (kind == abi::kRotate) {  // a b c becomes c a b
      const uint64_t b = stack[(depth - 1) & kTop], a = stack[(depth - 2) & kTop];
      stack[(depth - 2) & kTop] = top;
      stack[(depth - 1) & kTop] = a;
      top = b;
    } else {
      const uint64_t picked = operand == 0 ? top : stack[(depth - operand) & kTop];
      stack[depth++ & kTop] = top;
      top = picked;
    }
  }
  *result = static_cast<int64_t>(top);
  return true;
}

[[gnu::noinline]] void spile_rt_point_variables(Context* context, const uint64_t* values, const uint32_t* list,
                                                const uint64_t* places, const char* texts, char* out, char* scratch) {
  uint32_t at = 0;
  uint32_t count = list[0];
  if (count > abi::kMostListEntries) count = abi::kMostListEntries;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t* entry = list + 1 + abi::kListEntryWords * i;
    at = spile_rt_format_literal(out, at, texts + entry[0], entry[1]);
    int64_t value;
    const uint64_t* place = places + entry[2];
    bool known = entry[2] != abi::kUnknownPlace && spile_rt_point_value(context, values, place, &value);
    const uint32_t limit = known ? abi::string_limit_of(place[0]) : 0;
    if (limit) known = spile_rt_load_string(context, static_cast<uint64_t>(value), scratch, limit) >= 0;
    if (!known) {
      at = spile_rt_format_literal(out, at, "?", 1);
    } else if (limit) {
      at = spile_rt_format_literal(out, at, "\"", 1);
      at = spile_rt_format_string(out, at, scratch, 0, -1, -1);
      at = spile_rt_format_literal(out, at, "\"", 1);
    } else {
      at = spile_rt_format_long(out, at, value, abi::kFormatHex, abi::kFormatAlternate, -1, -1);
    }
  }
  spile_rt_format_end(out, at);
}

}  // extern "C"

}  // namespace spile::rt
