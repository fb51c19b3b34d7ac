#pragma once
// Makes libdw find the contents of skeleton units in a .dwp file: libdw opens .dwo files by the names in skeleton units, so these names are
// changed, in memory, to that of a descriptor which has one unit after the other. One thread.

#include <elfutils/libdw.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "debuginfo/split_package.h"

namespace spile::debuginfo {

// Returns the paths at which libdw looks for the unit's .dwo file; empty: the unit is whole.
std::vector<std::string> places_of_split_file(Dwarf_Die& skeleton, const std::string& folder);

class SplitUnits {
 public:
  // Prepares the sections of `elf`, which must be private to us (ELF_C_READ_MMAP_PRIVATE), before libdw sees it.
  SplitUnits(std::unique_ptr<SplitPackage> package, Elf* elf);
  // Opens the units of the package that have no .dwo file. folder: of the file with the skeleton units.
  void open_all(Dwarf* dwarf, const std::string& folder);
  const SplitPackage& package() const { return *package_; }

 private:
  bool rename(Dwarf* dwarf, Dwarf_Die& skeleton);

  std::unique_ptr<SplitPackage> package_;
  UniqueFd place_;                            // the descriptor that units are read from
  std::vector<std::unique_ptr<char[]>> kept_; // contents of sections that grew
  uint64_t in_strings_ = 0, in_line_strings_ = 0;  // offsets of its path; 0: absent
};

}  // namespace spile::debuginfo
