#pragma once
// Records that handlers write into their output ring (abi/record.h).

#include "codegen/bodies/body.h"

namespace spile::codegen {

// Emits a record of kind `kind` (abi::RecordKind) whose payload is `values`: longs, and strings with their length. id: of a
// format, an error or a command (tables.h), else 0. lengths: an i32 for each value that is bytes rather than a NUL-terminated
// string, null for others; may be shorter than `values`. A record that doesn't fit is lost; the runtime counts it.
void write_record(Body& body, uint32_t kind, uint32_t id, llvm::ArrayRef<llvm::Value*> values,
                  std::vector<llvm::Value*> lengths = {});

}  // namespace spile::codegen
