#pragma once
// .gnu_debugdata: a symbol table of functions that distributions leave in stripped files, as an ELF file compressed with xz.
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html

#include <memory>

#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

// Returns the ELF file in it; null: the image has none, it is damaged, of another build, or larger than 256 MiB.
std::unique_ptr<ElfImage> read_mini_debug(const ElfImage& image);

}  // namespace spile::debuginfo
