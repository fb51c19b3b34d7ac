#pragma once
// Virtual base classes (Itanium C++ ABI, section 2.4): where such a base lies in an object, the object's table of virtual
// functions says.

#include <vector>

#include "debuginfo/terms/type.h"

namespace spile::debuginfo {

struct VirtualBase {
  Type type;
  // bytes from the start of the object to the (base) class within that names it; the first word there is the address of the table
  uint64_t offset = 0;
  int64_t slot = 0;  // bytes from the table's address to the word with the distance, from there, of the virtual base
};

// Returns the virtual bases of a class and of its bases, each once.
std::vector<VirtualBase> virtual_bases(const Type& type);

}  // namespace spile::debuginfo
