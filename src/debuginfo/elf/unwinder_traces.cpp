#include "debuginfo/elf/unwinder_traces.h"

#include <elf.h>
#include <string.h>

#include <algorithm>

#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

namespace {

// Returns whether code compares something with PT_GNU_EH_FRAME.
bool knows_frame_header(const ElfImage& image) {
  const uint32_t type = PT_GNU_EH_FRAME;
  return std::ranges::any_of(image.segments(), [&](const Segment& segment) {
    if (!segment.executable || segment.offset > image.file().size()) return false;
    const std::string_view code = image.file().substr(segment.offset, segment.file_size);
    return memmem(code.data(), code.size(), &type, sizeof type) != nullptr;
  });
}

}  // namespace

UnwinderTraces traces_of_unwinder(const std::string& path, const UnwinderNames& names) {
  UnwinderTraces traces;
  auto image = ElfImage::open(path, path);
  if (!image.ok()) return traces;
  bool is_linked = false, has_locals = false, takes_name = false, finds_objects = false, asks_for_headers = false;
  std::set<std::string_view> missing = names.all;
  for (const ElfImage::Section& section : (*image)->sections()) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    is_linked |= section.type == SHT_DYNSYM;
    const auto strings = (*image)->strings_of(section);
    for (const Elf64_Sym& symbol : (*image)->symbols(section)) {
      const std::string_view name = ElfImage::string_at(strings, symbol.st_name);
      const bool is_taken = symbol.st_shndx == SHN_UNDEF;
      has_locals |= ELF64_ST_BIND(symbol.st_info) == STB_LOCAL && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (names.any.contains(name)) (is_taken ? takes_name : traces.is_named) = true;
      if (!is_taken) missing.erase(name);
      takes_name |= names.harmless.contains(name);
      finds_objects |= is_taken && name == "_dl_find_object";
      asks_for_headers |= is_taken && name == "dl_iterate_phdr";
    }
  }
  if (missing.empty() || has_locals || takes_name) return traces;
  traces.is_unnamed = finds_objects || ((asks_for_headers || !is_linked) && knows_frame_header(**image));
  return traces;
}

}  // namespace spile::debuginfo
