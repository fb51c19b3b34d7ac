#pragma once
// Reads which statement of the script each instruction of an object belongs to: the lines that LLVM writes as .BTF.ext, whose
// names and texts are in .BTF (https://docs.kernel.org/bpf/btf.html, "bpf_line_info").

#include "bpf/object.h"

namespace spile::bpf {

// Fills Section::lines of an object's code from its sections kTypesSection and kLinesSection, if it has both. Lines that belong
// to no instruction are left out. Errors: they are damaged; what was read until then stays.
Result<void> read_lines(Object& object);

}  // namespace spile::bpf
