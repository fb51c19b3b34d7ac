#include "debuginfo/name_search.h"

#include <dwarf.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <unordered_set>

namespace spile::debuginfo {

namespace {

// A unit that names all of its functions itself, by .debug_str or in place: made by GCC from one file of C or C++, with whole debug information in
// one piece. With -flto (GNU GIMPLE), dwz and split DWARF, units refer to names that other units or files have. has_type_units: methods of C++ may have
// their names there.
bool names_its_functions(const DwarfFile::Unit& unit, bool has_type_units) {
  Dwarf_Die die = unit.skeleton;
  if (unit.die.addr != unit.skeleton.addr || dwarf_tag(&die) != DW_TAG_compile_unit) return false;
  const std::string producer = die_text(die, DW_AT_producer);
  return producer.starts_with("GNU C") && !(has_type_units && producer.starts_with("GNU C++"));
}

bool is_of_types(const DwarfFile::Unit& unit) {
  Dwarf_Die die = unit.skeleton;
  return dwarf_tag(&die) == DW_TAG_type_unit;
}

bool is_partial(const DwarfFile::Unit& unit) {
  Dwarf_Die die = unit.skeleton;
  return dwarf_tag(&die) == DW_TAG_partial_unit;
}

}  // namespace

// Calls found(offset) where the name is followed by the end of its string, or by arguments of a template ("max<int>"), which patterns leave out.
template <typename Found>
void NameSearch::each_in(std::string_view text, Found found) const {
  for (size_t at = text.find(name_); at != std::string_view::npos; at = text.find(name_, at + 1)) {
    const size_t end = at + name_.size();
    if (end < text.size() && (text[end] == '\0' || text[end] == '<')) found(at);
  }
}

NameSearch::NameSearch(std::string_view strings, std::string name) : name_(std::move(name)) {
  // Linkers let a name be the end of a longer one, so there may be many.
  each_in(strings, [&](size_t at) {
    if (at > UINT32_MAX) return;
    offsets_.insert(static_cast<uint32_t>(at));
    low_halves_.set(at & 0xffff);
  });
}

void NameSearch::look_at(uint64_t begin, std::string_view info) {
  each_in(info, [&](size_t at) { places_.push_back(begin + at); });
  for (size_t at = 0; !offsets_.empty() && at + sizeof(uint32_t) <= info.size(); ++at) {
    uint32_t word;
    std::memcpy(&word, info.data() + at, sizeof word);
    if (low_halves_.test(word & 0xffff) && offsets_.contains(word)) places_.push_back(begin + at);
  }
}

std::vector<uint64_t> NameSearch::places() && {
  std::sort(places_.begin(), places_.end());
  return std::move(places_);
}

std::vector<DwarfFile::Unit> units_naming(DwarfFile& file, const std::string& name) {
  const std::vector<DwarfFile::Unit>& all = file.units();
  if (std::ranges::any_of(all, is_partial) || !file.alternate_units().empty()) return all;
  NameSearch search(file.section(".debug_str"), name);
  const bool has_all = file.each_part(".debug_info", search.overlap(), [&](uint64_t begin, std::string_view info) { search.look_at(begin, info); });
  if (!has_all) return all;
  const std::vector<uint64_t> places = std::move(search).places();
  const bool has_type_units = std::ranges::any_of(all, is_of_types) || !file.section(".debug_types").empty();
  // Units of types lie in another section with DWARF 4, so only the others say where one ends and the next begins.
  std::vector<uint64_t> begins{UINT64_MAX};
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
    if (named || !names_its_functions(unit, has_type_units)) naming.push_back(unit);
  }
  return naming;
}

}  // namespace spile::debuginfo
