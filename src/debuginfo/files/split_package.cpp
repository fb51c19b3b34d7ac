#include "debuginfo/files/split_package.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "debuginfo/files/plain_sections.h"
#include "debuginfo/files/split_object.h"

namespace spile::debuginfo {
namespace {

// DW_SECT_ numbers; those of version 2 (DWARF 4) and 5 differ from 5 on.
enum Kind : uint32_t { kInfo = 1, kTypes4 = 2, kAbbreviations = 3, kLines = 4, kLocations = 5, kStringOffsets = 6, kRanges5 = 8 };
constexpr uint32_t kMostUnits = 1 << 22, kMostColumns = 16;

struct SectionName {
  uint32_t kind;
  const char* name;
};
constexpr SectionName kNames4[] = {{kInfo, ".debug_info.dwo"},
                                   {kTypes4, ".debug_types.dwo"},
                                   {kAbbreviations, ".debug_abbrev.dwo"},
                                   {kLines, ".debug_line.dwo"},
                                   {kLocations, ".debug_loc.dwo"}};
constexpr SectionName kNames5[] = {{kInfo, ".debug_info.dwo"},
                                   {kAbbreviations, ".debug_abbrev.dwo"},
                                   {kLines, ".debug_line.dwo"},
                                   {kLocations, ".debug_loclists.dwo"},
                                   {kRanges5, ".debug_rnglists.dwo"}};
std::span<const SectionName> names_of(uint32_t version) {
  return version == 5 ? std::span<const SectionName>(kNames5) : std::span<const SectionName>(kNames4);
}
constexpr char kOffsetsName[] = ".debug_str_offsets.dwo", kStringsName[] = ".debug_str.dwo";

template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The unit's offsets of strings, and those strings alone: the package has the strings of all units in one section.
bool take_strings(std::string_view offsets, std::string_view all, uint32_t version, std::string& own_offsets,
                  std::string& strings) {
  constexpr size_t kHeader5 = 8;  // length, version, padding
  size_t at = 0;
  if (version == 5) {
    auto length = read_at<uint32_t>(offsets, 0);
    if (!length || *length == UINT32_MAX || offsets.size() < kHeader5) return offsets.empty();  // 64-bit DWARF
    own_offsets.append(offsets.substr(0, kHeader5));
    at = kHeader5;
  }
  for (; at + sizeof(uint32_t) <= offsets.size(); at += sizeof(uint32_t)) {
    const uint32_t offset = *read_at<uint32_t>(offsets, at);
    append(own_offsets, static_cast<uint32_t>(strings.size()));
    if (offset < all.size()) {
      const char* start = all.data() + offset;
      strings.append(start, strnlen(start, all.size() - offset));
    }
    strings += '\0';
    // Each string is named once, so a package whose strings come to more than it has is damaged.
    if (strings.size() > 4 * all.size() + offsets.size()) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<SplitPackage>> SplitPackage::open(const std::string& path, const KeptSections& kept) {
  TRY(UniqueFd file, open_plain(path, kept));
  auto package = std::make_unique<SplitPackage>();
  package->path_ = path;
  package->fd_ = std::move(file);
  package->elf_.reset(elf_begin(package->fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  Elf* elf = package->elf_.get();
  size_t names = 0;
  if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0)
    return Error{fmt::format("{}: not an ELF file", path), {}};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    if (!name || !std::string_view(name).starts_with(".debug_") || header.sh_type == SHT_NOBITS) continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data && data->d_buf)
      package->sections_.emplace(name, std::string_view(static_cast<const char*>(data->d_buf), data->d_size));
  }
  auto index = package->sections_.find(".debug_cu_index");
  if (index == package->sections_.end()) return Error{fmt::format("{}: has no index of units (.debug_cu_index)", path), {}};
  auto types = package->sections_.find(".debug_tu_index");
  if (!package->read_index(index->second, package->rows_) ||
      (types != package->sections_.end() && !types->second.empty() && !package->read_index(types->second, package->types_)))
    return Error{fmt::format("{}: its index of units is damaged, or of an unknown version", path), {}};
  package->group_types();
  return package;
}

// version, number of columns, of units and of slots (a hash table); ids by slot, rows by slot (from 1; 0: empty); the columns'
// kinds; offsets by row and column; sizes likewise.
bool SplitPackage::read_index(std::string_view index, std::unordered_map<uint64_t, Row>& rows) {
  constexpr uint64_t kHeader = 16;
  // Version 5 is two bytes, and padding.
  auto version = read_at<uint32_t>(index, 0), columns = read_at<uint32_t>(index, 4), units = read_at<uint32_t>(index, 8),
       slots = read_at<uint32_t>(index, 12);
  if (!slots || (*version != 2 && (*version & 0xffff) != 5) || *columns > kMostColumns || *units > kMostUnits ||
      *slots > 4 * kMostUnits)
    return false;
  if (version_ != 0 && version_ != (*version & 0xffff)) return false;
  version_ = *version & 0xffff;
  const uint64_t rows_at = kHeader + uint64_t{*slots} * 8, kinds_at = rows_at + uint64_t{*slots} * 4;
  const uint64_t line = uint64_t{*columns} * 4, offsets_at = kinds_at + line, sizes_at = offsets_at + *units * line;
  if (index.size() < sizes_at + *units * line) return false;
  for (uint64_t slot = 0; slot < *slots; ++slot) {
    const uint64_t id = *read_at<uint64_t>(index, kHeader + slot * 8);
    const uint32_t number = *read_at<uint32_t>(index, rows_at + slot * 4);
    if (number == 0) continue;
    if (number > *units) return false;
    Row row{};
    for (uint64_t column = 0; column < *columns; ++column) {
      const uint32_t kind = *read_at<uint32_t>(index, kinds_at + column * 4);
      if (kind >= kKinds) continue;
      row.parts[kind] = {*read_at<uint32_t>(index, offsets_at + (number - 1) * line + column * 4),
                         *read_at<uint32_t>(index, sizes_at + (number - 1) * line + column * 4)};
    }
    rows.emplace(id, row);
  }
  return true;
}

std::string_view SplitPackage::part(const Row& row, size_t kind) const {
  const char* name = kind == kStringOffsets ? kOffsetsName : nullptr;
  for (const SectionName& known : names_of(version_))
    if (known.kind == kind) name = known.name;
  auto section = name ? sections_.find(name) : sections_.end();
  if (section == sections_.end()) return {};
  const Part& part = row.parts[kind];
  if (part.offset > section->second.size() || section->second.size() - part.offset < part.size) return {};
  return section->second.substr(part.offset, part.size);
}

// By what they share, in the order of the file, so that a group has the same number in each run.
void SplitPackage::group_types() {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Row>> shared;
  auto key = [](const Row& row) { return std::pair(row.parts[kAbbreviations].offset, row.parts[kStringOffsets].offset); };
  for (const auto& [signature, row] : types_) shared[key(row)].push_back(row);
  std::map<std::pair<uint32_t, uint32_t>, size_t> numbers;
  const uint32_t kind = version_ == 5 ? kInfo : kTypes4;
  for (auto& [place, rows] : shared) {
    numbers.emplace(place, groups_.size());
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return a.parts[kind].offset < b.parts[kind].offset; });
    groups_.push_back(std::move(rows));
  }
  for (const auto& [signature, row] : types_) group_of_.emplace(signature, numbers[key(row)]);
  types_.clear();
}

std::optional<size_t> SplitPackage::group_of(uint64_t signature) const {
  auto found = group_of_.find(signature);
  return found == group_of_.end() ? std::nullopt : std::optional(found->second);
}

size_t SplitPackage::size_of(const char* name) const {
  auto section = sections_.find(name);
  return section == sections_.end() ? 0 : section->second.size();
}

UniqueFd SplitPackage::object(std::span<const Row> rows) const {
  if (rows.empty()) return {};
  std::vector<std::pair<std::string, std::string>> sections;
  for (const SectionName& known : names_of(version_)) {
    // Units have contents of their own, and the rest in common.
    std::string bytes(part(rows.front(), known.kind));
    if (known.kind == kInfo || known.kind == kTypes4)
      for (const Row& row : rows.subspan(1)) {
        bytes += part(row, known.kind);
        if (bytes.size() > size_of(known.name)) return {};  // they overlap: damaged
      }
    if (!bytes.empty()) sections.emplace_back(known.name, std::move(bytes));
  }
  auto all = sections_.find(kStringsName);
  std::string offsets, strings;
  if (!take_strings(part(rows.front(), kStringOffsets), all == sections_.end() ? std::string_view() : all->second, version_,
                    offsets, strings))
    return {};
  sections.emplace_back(kOffsetsName, std::move(offsets));
  sections.emplace_back(kStringsName, std::move(strings));
  return write_object(sections);
}

UniqueFd SplitPackage::unit(uint64_t id) const {
  auto found = rows_.find(id);
  return found == rows_.end() ? UniqueFd() : object({&found->second, 1});
}

UniqueFd SplitPackage::types(size_t group) const { return group < groups_.size() ? object(groups_[group]) : UniqueFd(); }

}  // namespace spile::debuginfo
