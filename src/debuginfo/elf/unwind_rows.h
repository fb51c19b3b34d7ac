#pragma once
// Call frame information as rows: .eh_frame (System V psABI x86-64 §3.7, LSB "Exception Frames") and .debug_frame (DWARF 5
// §6.4) run once, ahead of time, for every pc, and reduced to what a stack walker without an interpreter can follow
// (abi/stack_tables.h). What it can't follow becomes kUnwindUnknown.

#include <utility>
#include <vector>

#include "abi/stack_tables.h"
#include "debuginfo/elf/elf_image.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

// Returns the rows, ascending; each holds up to the next one's address. Damaged parts are left out. debug: the separate debug
// file, which may have .debug_frame; may be null.
std::vector<UnwindRow> read_unwind_rows(const ElfImage& image, const ElfImage* debug);

// Returns the address and the size in bytes of each piece of code that .eh_frame describes, ascending and without overlaps:
// functions, and parts of functions that lie elsewhere (.cold). Entries of the procedure linkage table are left out.
std::vector<std::pair<FileAddress, uint64_t>> read_unwind_ranges(const ElfImage& image);

}  // namespace spile::debuginfo
