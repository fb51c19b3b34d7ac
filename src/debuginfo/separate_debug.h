#pragma once
// Where the debug information of a stripped file is: DIR/.build-id/ab/cdef.debug by its build-id, else by the file name
// and checksum in .gnu_debuglink, beside the file, in .debug/ below it, and under DIR. What gdb looks for, in gdb's
// order: https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html

#include <memory>

#include "debuginfo/elf_image.h"

namespace spile::debuginfo {

// Returns the file with the debug information of `image`; null: no file of this very build was found (by build-id, else by checksum, for
// which the whole file is read). path: of `image`, as the user knows it.
std::unique_ptr<ElfImage> find_separate_debug(const ElfImage& image, const std::string& path,
                                              const OpenOptions& options);

}  // namespace spile::debuginfo
