#include "debuginfo/elf/elf_image.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "base/files/elf_header.h"
#include "base/files/stable_file.h"

namespace spile::debuginfo {
namespace {

// Copies: nothing in a damaged file need be aligned.
template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Error refused(const std::string& path, const std::string& why) { return {fmt::format("{}: {}", path, why), {}}; }

constexpr uint64_t kMaxSections = 1 << 20;

}  // namespace

Result<std::unique_ptr<ElfImage>> ElfImage::open(const std::string& path, const std::string& opened) {
  TRY(StableFile file, open_stable(path, opened));
  if (file.size < sizeof(Elf64_Ehdr)) return refused(path, "not an ELF file (too short)");

  void* map = mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
  if (map == MAP_FAILED) return Error::from_errno(fmt::format("map {}", path), errno);
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->bytes_ = static_cast<const char*>(map);
  image->size_ = file.size;
  image->fd_ = std::move(file.fd);
  image->opened_path_ = opened;
  TRY_DO(image->read_headers(path));
  return image;
}

ElfImage::~ElfImage() {
  if (bytes_) munmap(const_cast<char*>(bytes_), size_);
}

Result<void> ElfImage::read_headers(const std::string& path) {
  const Elf64_Ehdr header = *read_at<Elf64_Ehdr>(file(), 0);
  if (!is_elf(header)) return refused(path, "not an ELF file");
  if (!is_native_elf(header))
    return refused(path, fmt::format("an ELF file for another machine (class {}, machine {}); only {} is supported",
                                     header.e_ident[EI_CLASS], header.e_machine, abi::kElf.name));
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return refused(path, "neither an executable nor a shared library");
  type_ = header.e_type;
  entry_point_ = FileAddress(header.e_entry);

  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) return refused(path, "damaged program headers");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    auto segment = read_at<Elf64_Phdr>(file(), header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return refused(path, "damaged: program headers reach beyond the end of the file");
    if (segment->p_type == PT_LOAD)
      segments_.push_back({FileAddress(segment->p_vaddr), segment->p_offset, segment->p_filesz, segment->p_memsz,
                           (segment->p_flags & PF_X) != 0, (segment->p_flags & PF_W) != 0});
    else if (segment->p_type == PT_TLS)
      thread_locals_ = {segment->p_vaddr, segment->p_memsz, std::max<uint64_t>(segment->p_align, 1)};
    else if (segment->p_type == PT_INTERP) has_interpreter_ = true;
    else if (segment->p_type == PT_DYNAMIC) read_dynamic(dynamic_ = range(segment->p_offset, segment->p_filesz));
    else if (segment->p_type == PT_NOTE) read_notes(range(segment->p_offset, segment->p_filesz), segment->p_align);
  }
  if (!read_sections(header)) make_sections_of_dynamic();
  read_needed();
  return {};
}

// Sections are a convenience of linkers: a program without them, or with damaged ones, still runs and still has a name.
// False: the file lacks them, or they can't be read.
bool ElfImage::read_sections(const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return false;
  auto cut_off = [&] {
    truncation_ = fmt::format("the file is truncated: its section headers should be at byte {}, and it ends at byte {}",
                              header.e_shoff, size_);
    return false;
  };
  auto first = read_at<Elf64_Shdr>(file(), header.e_shoff);
  if (!first) return cut_off();
  // More than 0xff00 sections: the true numbers are in section 0.
  const uint64_t count = header.e_shnum ? header.e_shnum : first->sh_size;
  const uint64_t names_index = header.e_shstrndx == SHN_XINDEX ? first->sh_link : header.e_shstrndx;
  if (count > kMaxSections) return false;
  std::vector<Elf64_Shdr> headers;
  for (uint64_t i = 0; i < count; ++i) {
    auto section = read_at<Elf64_Shdr>(file(), header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return cut_off();
    headers.push_back(*section);
  }
  std::string_view names;
  if (names_index < headers.size() && headers[names_index].sh_type == SHT_STRTAB)
    names = range(headers[names_index].sh_offset, headers[names_index].sh_size);
  for (const Elf64_Shdr& s : headers)
    sections_.push_back({string_at(names, s.sh_name), s.sh_type, s.sh_flags, s.sh_addr, s.sh_offset, s.sh_size, s.sh_link});
  if (build_id_.empty())
    for (const Section& s : sections_)
      if (s.type == SHT_NOTE) read_notes(contents(s), 4);
  return !sections_.empty();
}

// What the dynamic linker goes by, with the names that linkers give it.
void ElfImage::make_sections_of_dynamic() {
  std::unordered_map<int64_t, uint64_t> values;
  for (uint64_t offset = 0; auto entry = read_at<Elf64_Dyn>(dynamic_, offset); offset += sizeof(Elf64_Dyn)) {
    if (entry->d_tag == DT_NULL) break;
    values.try_emplace(entry->d_tag, entry->d_un.d_val);
  }
  constexpr uint32_t kStrings = 0, kSymbols = 1;  // indices in sections_
  auto add = [&](std::string_view name, uint32_t type, uint64_t address, uint64_t size, uint32_t link) {
    uint64_t offset = 0;
    const uint64_t most = from_address(address, &offset).size();
    sections_.push_back({name, type, SHF_ALLOC, address, offset, std::min(size, most), link});
  };
  if (!values.contains(DT_SYMTAB) || !values.contains(DT_STRTAB)) return;
  add(".dynstr", SHT_STRTAB, values[DT_STRTAB], values[DT_STRSZ], 0);
  add(".dynsym", SHT_DYNSYM, values[DT_SYMTAB], count_dynamic_symbols(values[DT_HASH], values[DT_GNU_HASH]) * sizeof(Elf64_Sym),
      kStrings);
  add(".rela.dyn", SHT_RELA, values[DT_RELA], values[DT_RELASZ], kSymbols);
  add(".rela.plt", SHT_RELA, values[DT_JMPREL], values[DT_PLTRELSZ], kSymbols);
  sections_.push_back(
      {".dynamic", SHT_DYNAMIC, SHF_ALLOC, 0, static_cast<uint64_t>(dynamic_.data() - bytes_), dynamic_.size(), kStrings});
}

// The dynamic section does not contain the number of symbols, so this counts those that the hash tables refer to. An address of 0
// means that the file has no such table.
// DT_HASH is in the System V gABI, chapter 5; DT_GNU_HASH has four words, a Bloom filter of 64-bit words, the buckets (each the
// first symbol of a chain), and for each symbol from `first` on a word whose lowest bit ends the chain.
uint64_t ElfImage::count_dynamic_symbols(uint64_t hash, uint64_t gnu_hash) const {
  constexpr uint64_t kWord = sizeof(uint32_t);
  if (hash != 0)
    if (auto count = read_at<uint32_t>(from_address(hash), kWord)) return *count;
  if (gnu_hash == 0) return 0;
  const std::string_view table = from_address(gnu_hash);
  auto word = [&](uint64_t index) { return read_at<uint32_t>(table, index * kWord); };
  auto buckets = word(0), first = word(1), filter = word(2);
  if (!buckets || !first || !filter) return 0;
  const uint64_t first_bucket = 4 + uint64_t{*filter} * 2, chains = first_bucket + *buckets;
  uint64_t last = 0;
  for (uint64_t i = 0; i < *buckets; ++i) {
    auto symbol = word(first_bucket + i);
    if (!symbol) return 0;
    last = std::max<uint64_t>(last, *symbol);
  }
  if (last < *first) return *first;  // none that others could look for
  for (;; ++last) {
    auto chain = word(chains + last - *first);
    if (!chain || (*chain & 1)) return last + 1;
  }
}

void ElfImage::read_dynamic(std::string_view dynamic) {
  for (uint64_t offset = 0; auto entry = read_at<Elf64_Dyn>(dynamic, offset); offset += sizeof(Elf64_Dyn)) {
    if (entry->d_tag == DT_NULL) return;
    if (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_PIE)) flag_pie_ = true;
    if (entry->d_tag == DT_SONAME) has_soname_ = true;
  }
}

void ElfImage::read_needed() {
  const Section* dynamic = section(".dynamic");
  if (!dynamic) return;
  const std::string_view bytes = contents(*dynamic), names = strings_of(*dynamic);
  for (uint64_t offset = 0; auto entry = read_at<Elf64_Dyn>(bytes, offset); offset += sizeof(Elf64_Dyn)) {
    if (entry->d_tag == DT_NULL) return;
    if (entry->d_tag == DT_NEEDED) needed_.push_back(string_at(names, entry->d_un.d_val));
    if (entry->d_tag == DT_SONAME) soname_ = string_at(names, entry->d_un.d_val);
  }
}

void ElfImage::read_notes(std::string_view notes, uint64_t alignment) {
  if (alignment != 8) alignment = 4;
  auto align = [&](uint64_t v) { return (v + alignment - 1) & ~(alignment - 1); };
  for (uint64_t offset = 0; auto note = read_at<Elf64_Nhdr>(notes, offset);) {
    const uint64_t name = offset + sizeof(Elf64_Nhdr);
    const uint64_t description = align(name + note->n_namesz);
    const uint64_t end = description + note->n_descsz;
    if (end > notes.size()) return;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && notes.substr(name, 3) == "GNU" && build_id_.empty())
      for (unsigned char c : notes.substr(description, note->n_descsz)) build_id_ += fmt::format("{:02x}", c);
    if (note->n_namesz == 4 && notes.substr(name, 4) == std::string_view("Go\0\0", 4)) made_by_go_ = true;
    offset = align(end);
  }
}

std::string_view ElfImage::range(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size_ - offset < size) return {};
  return {bytes_ + offset, size};
}

std::string_view ElfImage::from_address(uint64_t address, uint64_t* offset) const {
  for (const Segment& s : segments_) {
    if (address < s.address.value || address - s.address.value >= s.file_size) continue;
    const uint64_t inside = address - s.address.value, start = s.offset + inside;
    if (start < s.offset || start >= size_) return {};
    if (offset) *offset = start;
    return {bytes_ + start, std::min(s.file_size - inside, size_ - start)};
  }
  return {};
}

const ElfImage::Section* ElfImage::section(std::string_view name) const {
  for (const Section& s : sections_)
    if (s.name == name) return &s;
  return nullptr;
}

std::string_view ElfImage::contents(const Section& section) const {
  return section.type == SHT_NOBITS ? std::string_view() : range(section.offset, section.size);
}

std::optional<ElfImage::DebugLink> ElfImage::debug_link() const {
  const Section* link = section(".gnu_debuglink");
  if (!link) return std::nullopt;
  std::string_view bytes = contents(*link);
  std::string_view name = string_at(bytes, 0);
  auto crc = read_at<uint32_t>(bytes, (name.size() + 4) & ~uint64_t{3});
  // The name is one path component; anything else would make us open what it likes.
  if (name.empty() || name.find('/') != name.npos || !crc) return std::nullopt;
  return DebugLink{std::string(name), *crc};
}

std::span<const Elf64_Sym> ElfImage::symbols(const Section& section) const {
  std::string_view bytes = contents(section);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(Elf64_Sym) != 0) return {};
  return {reinterpret_cast<const Elf64_Sym*>(bytes.data()), bytes.size() / sizeof(Elf64_Sym)};
}

std::string_view ElfImage::strings_of(const Section& section) const {
  if (section.link >= sections_.size() || sections_[section.link].type != SHT_STRTAB) return {};
  return contents(sections_[section.link]);
}

std::string_view ElfImage::string_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* start = table.data() + offset;
  const void* end = memchr(start, 0, table.size() - offset);
  return end ? std::string_view(start, static_cast<const char*>(end) - start) : std::string_view();
}

uint32_t debug_link_crc(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t;
    for (uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = (t[i] >> 1) ^ (t[i] & 1 ? 0xedb88320u : 0);
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (unsigned char c : bytes) crc = table[(crc ^ c) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace spile::debuginfo
