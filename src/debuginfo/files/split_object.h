#pragma once
// .dwo files as libdw reads them. With -fdebug-types-section each type is a unit in a section of its own, of which a .dwo file
// has many with the same name (DWARF 5, section 7.3.2.2 and appendix E.2); libdw of elfutils 0.188 reads one of them. The units
// do not refer to each other by offsets, and have their abbreviations and strings in common, so they can be joined. Sections
// compressed by zstd it does not read at all. One thread.

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace spile::debuginfo {

// Returns an ELF file in memory with these sections (names, contents); invalid: memory for it is lacking.
UniqueFd write_object(const std::vector<std::pair<std::string, std::string>>& sections);

// Whether libdw does not read all of a .dwo file: it has several sections with units, or one that is compressed by zstd,
// or is the object file of -gsplit-dwarf=single. False, too: it can't be read.
bool is_misread(const std::string& path);
// Returns a .dwo file with the same contents in which each name has one uncompressed section; invalid: the file is damaged.
UniqueFd well_read_object(const std::string& path);

}  // namespace spile::debuginfo
