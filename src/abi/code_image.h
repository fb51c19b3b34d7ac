#pragma once
// Compiled handlers of one domain as one flat, position-independent block: ImageCells, code and read-only data, with no
// relocations left. codegen makes it, engine (target) and session (controller) place it, at any page.

#include <stdint.h>

#include <vector>

namespace spile::abi {

// An instruction that may fault on traced memory, and where to go on when it does (offsets into the image).
struct FaultFixup {
  uint32_t fault_offset;
  uint32_t resume_offset;
};

struct CodeImage {
  std::vector<uint8_t> bytes;  // begins with ImageCells, all 0; empty: no handlers
  uint32_t code_begin = 0;     // offsets of [code_begin, code_end): instructions; the rest is read-only data
  uint32_t code_end = 0;
  std::vector<FaultFixup> fixups;  // sorted by fault_offset
  bool guru = false;               // may store into traced memory, by instructions that `fixups` lists
  bool unchecked = false;          // has C code of a guru, which may do anything: it is not checked
  bool keeps_values = false;       // keeps ThreadValues (questions.h): functions that change them are to be counted
  bool asks_of_others = false;     // asks about processes of its choice (Question::kNameOf, kProcessNumber)
};

}  // namespace spile::abi
