#include "debuginfo/dwarf/dwarf_split_units.h"

#include <dwarf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/files/bytes.h"
#include "debuginfo/files/split_object.h"

namespace spile::debuginfo {
namespace {

bool is_regular(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The data of a section; null: absent. libelf has two descriptions of it: the other one is set in *also, if that is not null.
Elf_Data* data_of(Elf* elf, std::string_view wanted, Elf_Data** also = nullptr) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    if (!name || name != wanted || header.sh_type == SHT_NOBITS) continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (!data || !data->d_buf) return nullptr;
    if (also) *also = elf_getdata(section, nullptr);
    return data;
  }
  return nullptr;
}

std::string path_of(const UniqueFd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

Dwarf_Attribute* name_attribute(Dwarf_Die& skeleton, Dwarf_Attribute* attribute) {
  Dwarf_Attribute* name = dwarf_attr(&skeleton, DW_AT_dwo_name, attribute);
  return name ? name : dwarf_attr(&skeleton, DW_AT_GNU_dwo_name, attribute);
}

// The number of a string by DW_FORM_strx and its kin: bytes of the form, 0 for LEB128.
std::optional<uint64_t> string_index(const Dwarf_Attribute& attribute) {
  size_t width = 0;
  switch (dwarf_whatform(const_cast<Dwarf_Attribute*>(&attribute))) {
    case DW_FORM_strx1: width = 1; break;
    case DW_FORM_strx2: width = 2; break;
    case DW_FORM_strx3: width = 3; break;
    case DW_FORM_strx4: width = 4; break;
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index: {
      constexpr size_t kMost = 5;  // bytes of an index
      ByteCursor bytes({reinterpret_cast<const char*>(attribute.valp), kMost});
      const uint64_t value = bytes.uleb();
      return bytes.failed() ? std::nullopt : std::optional(value);
    }
    default: return std::nullopt;
  }
  uint64_t value = 0;
  memcpy(&value, attribute.valp, width);
  return value;
}

}  // namespace

void each_type_unit(Dwarf* dwarf, const std::function<void(Dwarf_Die&, uint64_t, Dwarf_Die&)>& visit) {
  Dwarf_CU* cu = nullptr;
  Dwarf_Die unit, type;
  uint8_t kind = 0;
  uint64_t signature = 0;
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, &kind, &unit, &type) == 0)
    if ((kind == DW_UT_type || kind == DW_UT_split_type) && unit.addr && type.addr &&
        dwarf_cu_info(cu, nullptr, nullptr, nullptr, nullptr, &signature, nullptr, nullptr) == 0)
      visit(unit, signature, type);
  // Those of DWARF 4 are not among them.
  size_t header = 0;
  Dwarf_Off next = 0, in_unit = 0;
  for (Dwarf_Off offset = 0;
       dwarf_next_unit(dwarf, offset, &next, &header, nullptr, nullptr, nullptr, nullptr, &signature, &in_unit) == 0 &&
       next > offset;
       offset = next)
    if (dwarf_offdie_types(dwarf, offset + header, &unit) && dwarf_offdie_types(dwarf, offset + in_unit, &type))
      visit(unit, signature, type);
}

namespace {

std::optional<std::string> place_from_here(const std::string& name, const std::string& compiled_in) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error || name.empty() || name[0] == '/' || compiled_in.empty() || compiled_in[0] == '/') return std::nullopt;
  return (here / compiled_in / name).lexically_normal().string();
}

}  // namespace

std::optional<std::string> place_from_here(Dwarf_Die& skeleton) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(name_attribute(skeleton, &attribute));
  const char* directory = dwarf_formstring(dwarf_attr(&skeleton, DW_AT_comp_dir, &attribute));
  return name && directory ? place_from_here(std::string(name), std::string(directory)) : std::nullopt;
}

std::vector<std::string> places_of_split_file(Dwarf_Die& skeleton, const std::string& folder) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(name_attribute(skeleton, &attribute));
  const std::string name = text ? text : "";
  if (name.empty()) return {};
  if (name[0] == '/') return {name};
  std::vector<std::string> places{folder + "/" + name};
  const char* directory = dwarf_formstring(dwarf_attr(&skeleton, DW_AT_comp_dir, &attribute));
  const std::string compiled_in = directory ? directory : "";
  if (!compiled_in.empty()) places.push_back((compiled_in[0] == '/' ? compiled_in : folder + "/" + compiled_in) + "/" + name);
  if (auto here = place_from_here(name, compiled_in)) places.push_back(*here);
  for (std::string& place : places) place = std::filesystem::path(place).lexically_normal().string();
  std::vector<std::string> different;
  for (std::string& place : places) {
    if (std::ranges::find(different, place) == different.end()) different.push_back(std::move(place));
  }
  places = std::move(different);
  return places;
}

SplitUnits::SplitUnits(std::unique_ptr<SplitPackage> package, Elf* elf)
    : package_(std::move(package)), place_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (package_) groups_.resize(package_->groups());
  if (!place_) return;
  const std::string path = path_of(place_);
  auto extend = [&](const char* section) -> uint64_t {
    Elf_Data* also = nullptr;
    Elf_Data* data = data_of(elf, section, &also);
    if (!data || data->d_size == 0) return 0;
    auto bytes = std::make_unique<char[]>(data->d_size + path.size() + 1);
    memcpy(bytes.get(), data->d_buf, data->d_size);
    memcpy(bytes.get() + data->d_size, path.c_str(), path.size() + 1);
    const uint64_t offset = data->d_size;
    data->d_buf = bytes.get();
    data->d_size += path.size() + 1;
    if (also) {
      also->d_buf = data->d_buf;
      also->d_size = data->d_size;
    }
    kept_.push_back(std::move(bytes));
    return offset;
  };
  in_strings_ = extend(".debug_str");
  in_line_strings_ = extend(".debug_line_str");
}

// Changes the name of the unit's .dwo file. Forms: DWARF 5, section 7.5.5. False: the name is in place, and has no room to grow.
bool SplitUnits::rename(Dwarf* dwarf, Dwarf_Die& skeleton) {
  Dwarf_Attribute attribute;
  if (!name_attribute(skeleton, &attribute)) return false;
  uint8_t offset_size = 0;
  dwarf_cu_info(skeleton.cu, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &offset_size);
  if (offset_size != sizeof(uint32_t)) return false;
  auto write = [](void* at, uint64_t offset) {
    const auto narrow = static_cast<uint32_t>(offset);
    memcpy(at, &narrow, sizeof narrow);
  };
  switch (dwarf_whatform(&attribute)) {
    case DW_FORM_strp:
      if (in_strings_ == 0) return false;
      write(attribute.valp, in_strings_);
      return true;
    case DW_FORM_string: {
      auto* text = reinterpret_cast<char*>(attribute.valp);
      const std::string path = path_of(place_);
      if (strlen(text) < path.size()) return false;
      memcpy(text, path.c_str(), path.size() + 1);
      return true;
    }
    case DW_FORM_line_strp:
      if (in_line_strings_ == 0) return false;
      write(attribute.valp, in_line_strings_);
      return true;
    default: break;
  }
  const auto index = string_index(attribute);
  Elf_Data* offsets = data_of(dwarf_getelf(dwarf), ".debug_str_offsets");
  if (!index || !offsets || in_strings_ == 0) return false;
  constexpr uint64_t kHeader = 8;
  Dwarf_Word base = kHeader;
  dwarf_formudata(dwarf_attr(&skeleton, DW_AT_str_offsets_base, &attribute), &base);
  const uint64_t at = base + *index * sizeof(uint32_t);
  if (at > offsets->d_size || offsets->d_size - at < sizeof(uint32_t)) return false;
  write(static_cast<char*>(offsets->d_buf) + at, in_strings_);
  return true;
}

void SplitUnits::open_all(Dwarf* dwarf, const std::string& folder) {
  if (!place_) return;
  Dwarf_CU* cu = nullptr;
  Dwarf_Die unit;
  uint8_t kind = 0;
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, &kind, &unit, nullptr) == 0) {
    if (kind != DW_UT_skeleton || !unit.addr) continue;
    uint64_t id = 0;
    if (dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) != 0) continue;
    UniqueFd contents;
    bool has_file = false;
    const std::vector<std::string> places = places_of_split_file(unit, folder);
    const auto here = place_from_here(unit);
    for (const std::string& place : places) {
      if (!is_regular(place)) continue;
      const bool is_first = !has_file;
      has_file = true;
      if (contents) continue;
      if (is_misread(place)) contents = well_read_object(place);
      else if (is_first && place == here) contents = UniqueFd(::open(place.c_str(), O_RDONLY | O_CLOEXEC));
    }
    if (!has_file && package_ && package_->contains(id)) contents = package_->unit(id);
    if (!contents || !rename(dwarf, unit) || dup3(contents.get(), place_.get(), O_CLOEXEC) < 0) continue;
    places_.emplace(unit.addr, places);
    // libdw opens the file now, and keeps what it has read.
    Dwarf_Die split;
    dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
  }
}

std::vector<std::string> SplitUnits::places_of(Dwarf_Die& skeleton, const std::string& folder) const {
  const auto renamed = places_.find(skeleton.addr);
  return renamed != places_.end() ? renamed->second : places_of_split_file(skeleton, folder);
}

bool SplitUnits::find_type(uint64_t signature, Dwarf_Die* type) {
  const auto group = package_ ? package_->group_of(signature) : std::nullopt;
  if (!group || !owner_of(*group)) return false;
  auto found = types_.find(signature);
  if (found == types_.end()) return false;
  *type = found->second;
  return true;
}

std::optional<size_t> SplitUnits::group_of(Dwarf* owner) const {
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].dwarf && groups_[i].dwarf.get() == owner) return i;
  return std::nullopt;
}

Dwarf* SplitUnits::owner_of(size_t number) {
  if (number >= groups_.size()) return nullptr;
  Group& group = groups_[number];
  if (group.opened) return group.dwarf.get();
  group.opened = true;
  group.fd = package_->types(number);
  if (group.fd) group.dwarf.reset(dwarf_begin(group.fd.get(), DWARF_C_READ));
  Dwarf* dwarf = group.dwarf.get();
  if (!dwarf) return nullptr;
  each_type_unit(dwarf, [&](Dwarf_Die&, uint64_t signature, Dwarf_Die& type) { types_.emplace(signature, type); });
  return dwarf;
}

}  // namespace spile::debuginfo
