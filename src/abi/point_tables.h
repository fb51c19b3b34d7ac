#pragma once
// How a handler that serves many probe points finds the variables of the one that was hit: places as data, rather than as code of
// a handler for each point. codegen makes the tables, as constants of the flat image; runtime/process/point_tables.cpp reads
// them.
//
//   slots    u32   what each slot of a point stands for, one point after another: an offset (in words) into places or lists
//   places   u64   header, then two words for each step
//   lists    u32   count, then kListEntryWords for each variable of $$parms and the like
//   texts    char  what is printed before each variable: "a=", " b="
//
// A place is a program for a stack machine, as base/location.h has them: registers and other values of the probed point are
// numbers of an array that the handler fills in. The tables lie in the traced process, which may change them: a step that makes
// no sense pushes something, and reads of memory are those of spile_rt_load, with a fix-up each.

#include <stdint.h>

namespace spile::abi {

// Values of the probed point that places start from: the handler's array has so many words. A power of two.
inline constexpr uint32_t kPointValues = 64;
// Most entries of a place's stack, and most of its steps.
inline constexpr uint32_t kPlaceStack = 8, kMostPlaceSteps = 64;

enum PlaceStep : uint8_t {
  kPushValue,     // operand: number of the value
  kPushConstant,  // operand
  kAddConstant,   // operand
  kLoad,          // size: bytes; fails where they can't be read
  kExtend,        // keeps `size` bits from bit `first` on
  // pops the CFA; operand: site id of the function's entry, and << 32 the register's index; fails where it isn't known
  kEntryValue,
  kAbsolute,
  kNegate,
  kInvert,
  kWiden,  // the low 4 bytes are a float: the bits of the double of the same value
  // Pop two entries, the right-hand side first. ORDER location::Binary
  kBinary,
  kBinaryEnd = kBinary + 16,
  // ORDER location::Stack
  kDuplicate,
  kDrop,
  kSwap,
  kRotate,
  kPick,  // operand: depth
};

// Set in the site id that spile_rt_entry_value is given by handlers that run just after the function has returned.
inline constexpr uint64_t kEntryHasReturned = uint64_t{1} << 63;

// First word of a step; the second is its operand.
constexpr uint64_t place_step(uint8_t step, uint32_t size = 0, bool is_signed = false, uint32_t first = 0) {
  return step | uint64_t{size & 0xff} << 8 | uint64_t{is_signed} << 16 | uint64_t{first & 0xff} << 24;
}

// The header of a place: steps; and whether the value is the address of a string, of which at most `limit` bytes are read (0: a
// number).
constexpr uint64_t place_header(uint32_t steps, uint32_t limit) { return steps | uint64_t{limit} << 32; }
constexpr uint32_t steps_of(uint64_t header) { return static_cast<uint32_t>(header); }
constexpr uint32_t string_limit_of(uint64_t header) { return static_cast<uint32_t>(header >> 32); }

// An entry of a list: where its text is, how long that is, and the place (kUnknownPlace: printed as "?").
inline constexpr uint32_t kListEntryWords = 3, kUnknownPlace = ~0u, kMostListEntries = 256;

}  // namespace spile::abi
