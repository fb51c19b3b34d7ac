#include "debuginfo/name_search.h"

#include <dwarf.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <unordered_set>

namespace spile::debuginfo {

namespace {

// A unit that names all of its functions itself, by .debug_str or in place: made by GCC from one C file, with whole debug information in
// one piece. With -flto (GNU GIMPLE), dwz and split DWARF, units refer to names that other units or files have.
bool names_its_functions(const DwarfFile::Unit& unit) {
  Dwarf_Die die = unit.skeleton;
  if (unit.die.addr != unit.skeleton.addr || dwarf_tag(&die) != DW_TAG_compile_unit) return false;
  // Methods of C++ may have their names in units of types.
  const std::string producer = die_text(die, DW_AT_producer);
  return producer.starts_with("GNU C") && !producer.starts_with("GNU C++");
}

bool is_partial(const DwarfFile::Unit& unit) {
  Dwarf_Die die = unit.skeleton;
  return dwarf_tag(&die) == DW_TAG_partial_unit;
}

}  // namespace

std::vector<uint64_t> places_of_name(std::string_view info, std::string_view strings, const std::string& name) {
  std::vector<uint64_t> places;
  const std::string_view wanted(name.c_str(), name.size() + 1);
  for (size_t at = info.find(wanted); at != std::string_view::npos; at = info.find(wanted, at + 1)) places.push_back(at);
  // Linkers let a name be the end of a longer one, so there may be many.
  std::unordered_set<uint32_t> offsets;
  std::bitset<1 << 16> low_halves;
  for (size_t at = strings.find(wanted); at != std::string_view::npos && at <= UINT32_MAX; at = strings.find(wanted, at + 1)) {
    offsets.insert(static_cast<uint32_t>(at));
    low_halves.set(at & 0xffff);
  }
  for (size_t at = 0; !offsets.empty() && at + sizeof(uint32_t) <= info.size(); ++at) {
    uint32_t word;
    std::memcpy(&word, info.data() + at, sizeof word);
    if (low_halves.test(word & 0xffff) && offsets.contains(word)) places.push_back(at);
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<DwarfFile::Unit> units_naming(DwarfFile& file, const std::string& name) {
  const std::vector<DwarfFile::Unit>& all = file.units();
  const std::string_view info = file.section(".debug_info");
  if (info.empty() || std::ranges::any_of(all, is_partial) || !file.alternate_units().empty()) return all;
  const std::vector<uint64_t> places = places_of_name(info, file.section(".debug_str"), name);
  // Units of types lie in another section with DWARF 4, so only the others say where one ends and the next begins.
  std::vector<uint64_t> begins{info.size()};
  for (DwarfFile::Unit unit : all) {
    if (dwarf_tag(&unit.skeleton) == DW_TAG_compile_unit) begins.push_back(dwarf_dieoffset(&unit.skeleton));
  }
  std::sort(begins.begin(), begins.end());
  std::vector<DwarfFile::Unit> naming;
  for (DwarfFile::Unit unit : all) {
    const uint64_t begin = dwarf_dieoffset(&unit.skeleton);
    const auto end = std::ranges::upper_bound(begins, begin);
    const auto first = std::ranges::lower_bound(places, begin);
    const bool named = first != places.end() && (end == begins.end() || *first < *end);
    if (named || !names_its_functions(unit)) naming.push_back(unit);
  }
  return naming;
}

}  // namespace spile::debuginfo
