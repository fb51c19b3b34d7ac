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
  return unit.die.addr == unit.skeleton.addr && dwarf_tag(&die) == DW_TAG_compile_unit && die_text(die, DW_AT_producer).starts_with("GNU C");
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
  std::vector<DwarfFile::Unit> naming;
  for (size_t i = 0; i < all.size(); ++i) {
    DwarfFile::Unit unit = all[i];
    // Type units of DWARF 4, which are in another section, come last: behind them all is kept.
    const uint64_t begin = dwarf_dieoffset(&unit.skeleton);
    uint64_t end = UINT64_MAX;
    if (i + 1 < all.size()) {
      Dwarf_Die next = all[i + 1].skeleton;
      end = dwarf_dieoffset(&next);
    }
    const auto first = std::ranges::lower_bound(places, begin);
    const bool named = begin >= end || (first != places.end() && *first < end);
    if (named || !names_its_functions(unit)) naming.push_back(unit);
  }
  return naming;
}

}  // namespace spile::debuginfo
