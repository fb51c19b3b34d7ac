#pragma once
// Makes libdw find the contents of skeleton units that it does not find by itself: in a .dwp file, or in a .dwo file that it
// misreads (split_object.h). libdw opens .dwo files by the names in skeleton units, so these names are changed, in memory, to
// that of a descriptor which has one unit after the other. One thread.

#include <elfutils/libdw.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "debuginfo/files/split_package.h"

namespace spile::debuginfo {

// Calls visit(unit DIE, signature, type DIE) for each type unit.
void each_type_unit(Dwarf* dwarf, const std::function<void(Dwarf_Die&, uint64_t, Dwarf_Die&)>& visit);

// Returns the paths at which libdw looks for the unit's .dwo file; empty: the unit is whole.
std::vector<std::string> places_of_split_file(Dwarf_Die& skeleton, const std::string& folder);
// Returns the one of them that starts from the current folder, where libdw does not look. Builds that can be reproduced do not
// say where they ran (-fdebug-compilation-dir=.): the user may be there, as gdb expects, too.
std::optional<std::string> place_from_here(Dwarf_Die& skeleton);

class SplitUnits {
 public:
  // Prepares the sections of `elf`, which must be private to us (ELF_C_READ_MMAP_PRIVATE), before libdw sees it. `package` may be
  // null.
  SplitUnits(std::unique_ptr<SplitPackage> package, Elf* elf);
  // Opens the units of the package that have no .dwo file, and those whose .dwo file libdw would not read. folder: of the file
  // with the skeleton units.
  void open_all(Dwarf* dwarf, const std::string& folder);

  // Returns what places_of_split_file() returned before open_all().
  std::vector<std::string> places_of(Dwarf_Die& skeleton, const std::string& folder) const;

  // Finds the type unit with this signature in the package: sets *type to the type's DIE. False: the package does not have it, or
  // is damaged.
  bool find_type(uint64_t signature, Dwarf_Die* type);
  // Types of the package are in groups. The group that a DIE's owner is; nullopt: none. The owner of a group's DIEs; null: no
  // such group.
  std::optional<size_t> group_of(Dwarf* owner) const;
  Dwarf* owner_of(size_t group);
  size_t groups() const { return groups_.size(); }

 private:
  struct DwarfCloser {
    void operator()(Dwarf* d) const { dwarf_end(d); }
  };
  struct Group {
    bool opened = false;
    UniqueFd fd;
    std::unique_ptr<Dwarf, DwarfCloser> dwarf;
  };
  bool rename(Dwarf* dwarf, Dwarf_Die& skeleton);

  std::unique_ptr<SplitPackage> package_;
  UniqueFd place_;                                              // the descriptor that units are read from
  std::vector<std::unique_ptr<char[]>> kept_;                   // contents of sections that grew
  std::unordered_map<void*, std::vector<std::string>> places_;  // by skeleton unit, of those that are renamed
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, Dwarf_Die> types_;  // by signature, of the groups that are open
  uint64_t in_strings_ = 0, in_line_strings_ = 0;  // offsets of its path; 0: absent
};

}  // namespace spile::debuginfo
