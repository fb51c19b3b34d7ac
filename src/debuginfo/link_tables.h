#pragma once
// What linkers and <sys/sdt.h> leave in an ELF file about places that can be probed: SDT marks in notes, and the entries
// of the procedure linkage table.

#include <vector>

#include "debuginfo/debuginfo.h"
#include "debuginfo/elf_image.h"

namespace spile::debuginfo {

std::vector<Mark> read_marks(const ElfImage& image);
std::vector<PltEntry> read_plt(const ElfImage& image);

}  // namespace spile::debuginfo
