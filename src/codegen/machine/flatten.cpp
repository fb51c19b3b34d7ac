// The image's layout:
//
//   0            .spile.cells
//   code_begin   .text sections
//   code_end     .rodata sections, each aligned as it asks
//
// .spile.fixups holds pairs of 32-bit offsets, each relative to its own place, of an instruction that may fault and of
// where to go on; it is resolved as if it followed the image, then read and left out.

#include "codegen/machine/flatten.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "abi/arena.h"
#include "base/files/elf_header.h"
#include "codegen/machine/relocation.h"

namespace spile::codegen {

namespace {

Error internal(const std::string& what) {
  return Error{"compile: internal error: " + what, "this is a mistake in spile; please report it with the script"};
}

class Flattener {
 public:
  explicit Flattener(std::span<const char> object) : object_(object) {}
  Result<FlatObject> run();

 private:
  template <typename T>
  std::span<const T> table(uint64_t offset, uint64_t bytes) const {
    if (offset > object_.size() || bytes > object_.size() - offset) return {};
    return {reinterpret_cast<const T*>(object_.data() + offset), bytes / sizeof(T)};
  }
  std::string name_of(const Elf64_Shdr& section) const {
    return object_.data() + sections_[header_->e_shstrndx].sh_offset + section.sh_name;
  }
  bool is_code(const Elf64_Shdr& s) const { return s.sh_flags & SHF_EXECINSTR; }

  Result<void> place_sections();
  void place(size_t index);
  Result<void> relocate(const Elf64_Shdr& relocations);
  Result<void> relocate_one(const Elf64_Rela& relocation, size_t section);
  Result<uint64_t> address_of(uint32_t symbol) const;
  Result<void> collect_fixups();
  void collect_symbols();

  std::span<const char> object_;
  const Elf64_Ehdr* header_ = nullptr;
  std::span<const Elf64_Shdr> sections_;
  std::span<const Elf64_Sym> symbols_;
  const char* names_ = nullptr;
  std::vector<int64_t> offsets_;  // of sections in the image; -1: not part of it
  size_t fixups_ = 0;             // section of fix-ups; 0: none
  FlatObject flat_;
};

void Flattener::place(size_t index) {
  const Elf64_Shdr& section = sections_[index];
  std::vector<uint8_t>& bytes = flat_.image.bytes;
  uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, is_code(section) ? kCodePadding : 0);
  offsets_[index] = static_cast<int64_t>(bytes.size());
  const char* from = object_.data() + section.sh_offset;
  if (section.sh_type == SHT_NOBITS) bytes.resize(bytes.size() + section.sh_size);
  else bytes.insert(bytes.end(), from, from + section.sh_size);
}

Result<void> Flattener::place_sections() {
  offsets_.assign(sections_.size(), -1);
  std::vector<size_t> code, data;
  for (size_t i = 1; i < sections_.size(); ++i) {
    const Elf64_Shdr& section = sections_[i];
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0) continue;
    std::string name = name_of(section);
    if (name == ".spile.cells") place(i);
    else if (name == ".spile.fixups") fixups_ = i;
    else if (is_code(section)) code.push_back(i);
    else if (section.sh_flags & SHF_WRITE) return internal("the object has writable data in " + name);
    else if (name != ".eh_frame") data.push_back(i);
  }
  if (flat_.image.bytes.size() > sizeof(abi::ImageCells)) return internal("the image's cells have grown");
  flat_.image.bytes.resize(sizeof(abi::ImageCells));
  flat_.image.code_begin = static_cast<uint32_t>(flat_.image.bytes.size());
  for (size_t i : code) place(i);
  flat_.image.code_end = static_cast<uint32_t>(flat_.image.bytes.size());
  for (size_t i : data) place(i);
  if (fixups_) place(fixups_);
  return {};
}

Result<uint64_t> Flattener::address_of(uint32_t index) const {
  if (index >= symbols_.size()) return internal("a relocation names no symbol");
  const Elf64_Sym& symbol = symbols_[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size() || offsets_[symbol.st_shndx] < 0) {
    return internal(std::string("undefined symbol ") + (names_ + symbol.st_name));
  }
  return static_cast<uint64_t>(offsets_[symbol.st_shndx]) + symbol.st_value;
}

Result<void> Flattener::relocate_one(const Elf64_Rela& relocation, size_t section) {
  uint64_t place = static_cast<uint64_t>(offsets_[section]) + relocation.r_offset;
  TRY(uint64_t target, address_of(static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info))));
  int64_t value = static_cast<int64_t>(target + static_cast<uint64_t>(relocation.r_addend) - place);
  uint8_t* at = flat_.image.bytes.data() + place;
  switch (apply_relocation(ELF64_R_TYPE(relocation.r_info), value, at)) {
    case Relocated::kDone: return {};
    case Relocated::kTooFar: return internal("the image is too large for its references");
    case Relocated::kUnknown:
      return internal("relocation of type " + std::to_string(ELF64_R_TYPE(relocation.r_info)) + " against " +
                      (names_ + symbols_[ELF64_R_SYM(relocation.r_info)].st_name) + " in " + name_of(sections_[section]));
  }
  CHECK(false);
}

Result<void> Flattener::relocate(const Elf64_Shdr& relocations) {
  size_t section = relocations.sh_info;
  if (section >= offsets_.size() || offsets_[section] < 0) return {};
  for (const Elf64_Rela& relocation : table<Elf64_Rela>(relocations.sh_offset, relocations.sh_size)) {
    TRY_DO(relocate_one(relocation, section));
  }
  return {};
}

Result<void> Flattener::collect_fixups() {
  if (!fixups_) return {};
  uint64_t begin = static_cast<uint64_t>(offsets_[fixups_]);
  std::vector<uint8_t>& bytes = flat_.image.bytes;
  auto target = [&](uint64_t at) {
    int32_t relative;
    std::memcpy(&relative, bytes.data() + at, 4);
    return static_cast<uint32_t>(at + static_cast<uint64_t>(static_cast<int64_t>(relative)));
  };
  for (uint64_t at = begin; at + 8 <= begin + sections_[fixups_].sh_size; at += 8) {
    abi::FaultFixup fixup{target(at), target(at + 4)};
    if (fixup.fault_offset >= flat_.image.code_end || fixup.resume_offset >= flat_.image.code_end) {
      return internal("a fix-up lies outside the code");
    }
    flat_.image.fixups.push_back(fixup);
  }
  bytes.resize(begin);
  std::ranges::sort(flat_.image.fixups, {}, &abi::FaultFixup::fault_offset);
  return {};
}

void Flattener::collect_symbols() {
  for (const Elf64_Sym& symbol : symbols_) {
    if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || symbol.st_shndx >= offsets_.size()) continue;
    if (offsets_[symbol.st_shndx] < 0) continue;
    flat_.symbols[names_ + symbol.st_name] =
        static_cast<uint32_t>(offsets_[symbol.st_shndx]) + static_cast<uint32_t>(symbol.st_value);
  }
}

Result<FlatObject> Flattener::run() {
  auto headers = table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  if (headers.empty() || !is_native_elf(headers[0])) {
    return internal("the code generator made an object for another machine");
  }
  header_ = &headers[0];
  sections_ = table<Elf64_Shdr>(header_->e_shoff, sizeof(Elf64_Shdr) * header_->e_shnum);
  if (sections_.empty() || header_->e_shstrndx >= sections_.size()) return internal("the object has no sections");
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
    symbols_ = table<Elf64_Sym>(section.sh_offset, section.sh_size);
    names_ = object_.data() + sections_[section.sh_link].sh_offset;
  }
  TRY_DO(place_sections());
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type == SHT_RELA) TRY_DO(relocate(section));
  }
  TRY_DO(collect_fixups());
  collect_symbols();
  return std::move(flat_);
}

}  // namespace

Result<FlatObject> flatten(std::span<const char> object) { return Flattener(object).run(); }

}  // namespace spile::codegen
