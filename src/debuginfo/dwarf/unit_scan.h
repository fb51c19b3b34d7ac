#pragma once
// Reads a unit's DIEs as bytes, without libdw, and finds those that have a certain name, or refer to a DIE that has it: 40
// million DIEs of a program with 600 MB of debug information in a second, where libdw takes 20 times as long. DWARF 5, section
// 7.5. Any thread: each call reads only what it is given.

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "debuginfo/dwarf/sought_name.h"

namespace spile::debuginfo {

// Where a DIE is: its offset in .debug_info, and kInAlternate if that is the section of the file that dwz moved common parts to.
using DieKey = uint64_t;
constexpr DieKey kInAlternate = DieKey{1} << 63;

struct ScannedUnit {
  struct Call {  // that is inlined
    DieKey die;
    DieKey function;  // around it
    DieKey origin;    // what is inlined
  };
  // Its contents are elsewhere, have forms that only libdw follows, or are damaged. All else is empty then.
  bool unsure = false;
  bool refers_elsewhere = false;  // parts of descriptions are in other units
  bool has_variable = false;      // of that name
  bool has_type = false;          // or an enumerator of that name
  std::vector<DieKey> named;      // functions that have the name
  // a function, and the DIE that has the rest of its description; only with refers_elsewhere
  std::vector<std::pair<DieKey, DieKey>> described;
  std::vector<Call> calls;  // of functions of that name; with refers_elsewhere: of any name
};

struct ScannedSections {
  std::string_view abbreviations;   // .debug_abbrev
  std::string_view string_offsets;  // .debug_str_offsets; empty: absent
};

// unit: from its header on, at `begin`.
ScannedUnit scan_unit(DieKey begin, std::string_view unit, const ScannedSections& sections, const SoughtName& name);

// Returns the functions that have the name, or whose description elsewhere, perhaps in another of these units, has it.
std::unordered_set<DieKey> named_functions(std::span<const ScannedUnit> units);

}  // namespace spile::debuginfo
