// System V psABI 1.0, chapter 4.4 "Relocation": those that code without a global offset table has.

#include "codegen/machine/relocation.h"

#include <elf.h>

#include <cstring>

namespace spile::codegen {

const uint8_t kCodePadding = 0xcc;  // int3

Relocated apply_relocation(uint64_t type, int64_t value, uint8_t* at) {
  switch (type) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32: {
      int32_t narrow = static_cast<int32_t>(value);
      if (narrow != value) return Relocated::kTooFar;
      std::memcpy(at, &narrow, sizeof narrow);
      return Relocated::kDone;
    }
    case R_X86_64_PC64: std::memcpy(at, &value, sizeof value); return Relocated::kDone;
    default: return Relocated::kUnknown;
  }
}

}  // namespace spile::codegen
