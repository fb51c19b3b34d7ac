#pragma once
// Opens a relocatable object (ET_REL), as modules of the kernel are: its sections have no addresses before the kernel loads it,
// and all that its debug information says about addresses stands in relocations. The sections are put one behind another, at
// addresses that depend on nothing but the file, so that answers can be remembered by build-id; the relocations are applied, and
// the result is read as an ordinary file. Where a section lies in memory is the caller's to know. System V gABI, chapter 4,
// "Relocation"; kernel/module/main.c does it for the kernel.

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "debuginfo/debuginfo.h"

namespace spile::debuginfo {

struct PlacedSection {
  std::string name;
  FileAddress address;
  uint64_t size;  // bytes
  bool executable;
};

struct LinkedObject {
  std::shared_ptr<Module> module;
  std::vector<PlacedSection> sections;  // ascending by address
  std::shared_ptr<UniqueFd> file;       // must live as long as the module
};

// The lowest address of a section. Below it lie those of which each CPU has a copy, and nothing that has an address in memory.
inline constexpr FileAddress kFirstLinked{uint64_t{16} << 20};

// Returns the object at options.place_of(path), linked. Errors: as Module::open(); not a relocatable object; damaged; too large.
Result<LinkedObject> open_linked(const std::string& path, const OpenOptions& options = {});

}  // namespace spile::debuginfo
