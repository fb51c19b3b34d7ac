#pragma once
// A relocatable ELF object of this machine as one position-independent block (abi/code_image.h): cells, then code, then read-only
// data, every reference resolved. Pure: bytes in, bytes out; no LLVM.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "abi/code_image.h"
#include "base/result.h"

namespace spile::codegen {

struct FlatObject {
  abi::CodeImage image;
  std::map<std::string, uint32_t> symbols;  // global ones: offset into the image
};

// Makes an image of an object that emit_object() (backend.h) has made: its form is not checked. CodeImage::guru and `unchecked`
// are the caller's to set. Errors are mistakes of ours: a relocation that would need fixing at load time, writable data, an
// undefined symbol.
Result<FlatObject> flatten(std::span<const char> object);

}  // namespace spile::codegen
