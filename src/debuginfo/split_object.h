#pragma once
// .dwo files as libdw reads them. With -fdebug-types-section each type is a unit in a section of its own, of which a .dwo file has many with
// the same name (DWARF 5, section 7.3.2.2 and appendix E.2); libdw of elfutils 0.188 reads one of them. The units do not refer to
// each other by offsets, and have their abbreviations and strings in common, so they can be joined. One thread.

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace spile::debuginfo {

// Returns an ELF file in memory with these sections (names, contents); invalid: memory for it is lacking.
UniqueFd write_object(const std::vector<std::pair<std::string, std::string>>& sections);

// Whether a .dwo file has several sections with units. False, too: it can't be read.
bool has_parted_units(const std::string& path);
// Returns a .dwo file, in memory, in which each name has one section; invalid: the file is damaged.
UniqueFd join_units(const std::string& path);

}  // namespace spile::debuginfo
