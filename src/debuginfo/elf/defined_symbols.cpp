#include "debuginfo/elf/defined_symbols.h"

#include <elf.h>

#include "debuginfo/elf/elf_image.h"
#include "debuginfo/elf/link_tables.h"

namespace spile::debuginfo {

std::set<std::string_view> defined_symbols(const std::string& path, const std::set<std::string_view>& names) {
  std::set<std::string_view> found;
  auto image = ElfImage::open(path, path);
  if (!image.ok()) return found;
  for (const ElfImage::Section& section : (*image)->sections()) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    const auto strings = (*image)->strings_of(section);
    for (const Elf64_Sym& symbol : (*image)->symbols(section)) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0) continue;
      if (auto known = names.find(ElfImage::string_at(strings, symbol.st_name)); known != names.end()) found.insert(*known);
    }
  }
  return found;
}

std::set<uint64_t> ways_to_functions(const std::string& path, const std::set<std::string_view>& names) {
  std::set<uint64_t> ways;
  auto image = ElfImage::open(path, path);
  if (!image.ok()) return ways;
  for (const auto& [slot, name] : imported_slots(**image)) {
    if (names.contains(name)) ways.insert(slot);
  }
  if (!ways.empty()) {
    for (const PltEntry& entry : read_plt(**image)) {
      if (names.contains(entry.name)) ways.insert(entry.address.value);
    }
  }
  for (const ElfImage::Section& section : (*image)->sections()) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    const auto strings = (*image)->strings_of(section);
    for (const Elf64_Sym& symbol : (*image)->symbols(section)) {
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      if (names.contains(ElfImage::string_at(strings, symbol.st_name))) ways.insert(symbol.st_value);
    }
  }
  return ways;
}

}  // namespace spile::debuginfo
