#pragma once
// Where an object lives: in memory, in a register, or in pieces, each found by the operations of base/location.h.

#include <cstdint>
#include <string>
#include <vector>

#include "base/location.h"
#include "debuginfo/terms/array_shape.h"
#include "debuginfo/terms/type.h"

namespace spile::debuginfo {

// A part of an object that the compiler keeps in several places.
struct Piece {
  enum class Kind : uint8_t { kMissing, kMemory, kValue };
  Kind kind = Kind::kMissing;       // kMissing: this part is optimized out
  uint32_t size = 0;                // bytes
  location::Operations operations;  // leave its address (kMemory), or itself in the low bytes (kValue)
};

// Where an object is at one program counter. Registers (DWARF's numbers) are those of that moment; addresses that the operations
// leave are run-time addresses. Of base/location.h's operations, those of the script (Index, ScriptPointer) and RecordField
// appear only where the caller put them, and those of probe points (CallFrameCfa, CallNumber, CalledFrom, EntryKnown) never.
struct Place {
  enum class Kind : uint8_t {
    kUnavailable,  // reason says why, as a phrase behind the variable's name: "is optimized out"
    kMemory,       // operations leave the object's address
    kValue,        // operations leave the object itself in the low bytes (the upper ones are garbage); it has no address
    kPieces,       // `pieces`, in order of their bytes in the object
  };
  Kind kind = Kind::kUnavailable;
  std::string reason;
  location::Operations operations;
  std::vector<Piece> pieces;
  Type type;
  // A bit-field: bit_size bits, starting bit_offset bits into the place. bit_size is 0 for everything else.
  uint32_t bit_offset = 0;
  uint32_t bit_size = 0;
  std::vector<FrameNumber> array_numbers{};  // of arrays within `type`

  bool available() const { return kind != Kind::kUnavailable; }
};

}  // namespace spile::debuginfo
