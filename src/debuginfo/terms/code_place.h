#pragma once
// Places inside functions, as debug information knows them: lines of the source, inlined calls, labels, calls, stretches of code.

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"

namespace spile::debuginfo {

struct SourcePlace {
  std::string file;  // as the compiler was given it, made absolute where the compilation directory is known
  int line = 0;      // 0: not known
};

struct CodePlace {
  FileAddress address;       // of an instruction
  FileAddress function;      // entry of the function that has the instruction (the one around an inlined call)
  std::string linkage_name;  // of the function whose source it is: of the inlined one, inside an inlined call
  uint64_t scope = 0;        // names the inlined call around it for Module::variables; 0: the place is not inlined
  std::string name;          // a label's name; a callee's linkage name
  SourcePlace source;        // the line; for an inlined call, where the function is declared
  // Of a call:
  bool tail = false;   // a jump, with which the function ends
  uint8_t length = 0;  // of the instruction, bytes; in records of DwarfReader::calls(), see there
  FileAddress target;  // where it leads; 0: through a slot of the global offset table

  bool operator==(const CodePlace& other) const { return address == other.address && scope == other.scope; }
};
using CodePlaces = std::vector<CodePlace>;

// Code from `begin` up to, but not with, `end`.
struct CodeRange {
  FileAddress begin, end;
};

}  // namespace spile::debuginfo
