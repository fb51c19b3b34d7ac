#pragma once
// Where the debug information of a stripped file is: DIR/.build-id/ab/cdef.debug by its build-id, else by the file name
// and checksum in .gnu_debuglink, beside the file, in .debug/ below it, and under DIR. What gdb looks for, in gdb's
// order: https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html. At last debuginfod servers are asked.

#include <memory>

#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

struct SeparateDebug {
  // null: no file of this very build was found (by build-id, else by checksum, for which the whole file is read)
  std::unique_ptr<ElfImage> image;
  // Why: files of other builds, with both build-ids, and what servers answered. Clauses for a message; "" for none.
  std::string why;
  // where the file that .gnu_debuglink names was looked for, as a clause; "": it names none, or there is a file
  std::string missing;
};

// path: of `image`, as the user knows it.
SeparateDebug find_separate_debug(const ElfImage& image, const std::string& path, const OpenOptions& options);

}  // namespace spile::debuginfo
