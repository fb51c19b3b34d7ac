#pragma once
// Records that handlers write into their output ring (abi/record.h).

#include "codegen/body.h"

namespace spile::codegen {

// Emits a record of kind `kind` (abi::RecordKind) whose payload is `values`: longs, and strings with their length. id: of a
// format, an error or a command (tables.h). lengths: of the values that are bytes with their number rather than strings;
// others null, or none at all. A record that doesn't fit is lost; the runtime counts it.
void write_record(Body& body, uint32_t kind, uint32_t id, llvm::ArrayRef<llvm::Value*> values,
                  std::vector<llvm::Value*> lengths = {});

}  // namespace spile::codegen
