#pragma once
// The file names of a line number table's header (DWARF 5, section 6.2.4; DWARF 4 has the same content). libdw would decode the
// whole line program to find them: 100 ms for SQLite, of which a question for one function's source file needs nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spile::debuginfo {

struct LineSections {
  std::string_view line;          // .debug_line, or .debug_line.dwo
  std::string_view line_strings;  // .debug_line_str
  std::string_view strings;       // .debug_str
};

// Returns the paths by file number: entry 0 of DWARF 4 and older is empty. offset: of the table in .debug_line, bytes. Relative
// paths are put behind compilation_directory, if that is not empty. Damaged parts are left out, down to an empty list.
std::vector<std::string> line_table_files(const LineSections& sections, uint64_t offset,
                                          const std::string& compilation_directory);

}  // namespace spile::debuginfo
