#include "debuginfo/elf/frame_lookup.h"

#include <elf.h>

#include <algorithm>

#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

namespace {

// Whether code compares something with PT_GNU_EH_FRAME.
bool knows_frame_header(const ElfImage& image) {
  const uint32_t type = PT_GNU_EH_FRAME;
  const std::string_view wanted(reinterpret_cast<const char*>(&type), sizeof type);
  return std::ranges::any_of(image.segments(), [&](const Segment& segment) {
    if (!segment.executable || segment.offset > image.file().size()) return false;
    return image.file().substr(segment.offset, segment.file_size).find(wanted) != std::string_view::npos;
  });
}

}  // namespace

bool looks_up_frames(const std::string& path) {
  auto image = ElfImage::open(path, path);
  if (!image.ok()) return false;
  bool is_linked = false, asks_for_headers = false;
  for (const ElfImage::Section& section : (*image)->sections()) {
    if (section.type != SHT_DYNSYM) continue;
    is_linked = true;
    const auto strings = (*image)->strings_of(section);
    for (const Elf64_Sym& symbol : (*image)->symbols(section)) {
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const std::string_view name = ElfImage::string_at(strings, symbol.st_name);
      if (name == "_dl_find_object") return true;
      asks_for_headers |= name == "dl_iterate_phdr";
    }
  }
  return (asks_for_headers || !is_linked) && knows_frame_header(**image);
}

}  // namespace spile::debuginfo
