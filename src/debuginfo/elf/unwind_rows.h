#pragma once
// Call frame information as rows: .eh_frame (System V psABI x86-64 §3.7, LSB "Exception Frames") and .debug_frame (DWARF 5
// §6.4) run once, ahead of time, for every pc, and reduced to what a stack walker without an interpreter can follow
// (abi/stack_tables.h). What it can't follow becomes kUnwindUnknown.

#include <vector>

#include "abi/stack_tables.h"
#include "debuginfo/elf/elf_image.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

// Returns the rows, ascending; each holds up to the next one's address. Damaged parts are left out. debug: the separate debug
// file, which may have .debug_frame; may be null.
std::vector<UnwindRow> read_unwind_rows(const ElfImage& image, const ElfImage* debug);

// A piece of code with call frame information of its own: a function, or a part of one that lies elsewhere.
struct UnwindRange {
  enum class Start : uint8_t {
    kCalled,   // as a function's code begins: the return address is on top of the stack, and nothing has been saved
    kInside,   // with a frame that code elsewhere has made: a part of a function, which is jumped to
    kUnclear,  // a signal's way back, or rules that are not followed here
  };
  FileAddress address;
  uint64_t size;  // bytes
  Start start;
};

// Returns the pieces of code that .eh_frame describes, ascending and without overlaps. Entries of the procedure linkage table are
// left out. Takes 0.1 us a piece.
std::vector<UnwindRange> read_unwind_ranges(const ElfImage& image);

}  // namespace spile::debuginfo
