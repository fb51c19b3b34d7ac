#pragma once
// Reads all units of a file with libdw, in parallel and with bounded memory: libdw keeps what it has read of a unit, 1.3 GB of a
// program with 600 MB of debug information. So groups of units are read each by an opening of the file of its own, which is
// dropped behind them. One thread calls; it and others run.

#include <functional>
#include <iterator>
#include <vector>

#include "debuginfo/dwarf/dwarf_file.h"

namespace spile::debuginfo {

// Units [begin, end) of DwarfFile::units().
struct UnitGroup {
  size_t begin, end;
};
// Bytes of .debug_info in a group: libdw keeps some 30 MB of it. Smaller groups cost more time, as each opening looks at all
// units' headers.
inline constexpr uint64_t kGroupBytes = 6 << 20;
// Returns the groups of units that begin within so many bytes, or of one unit.
std::vector<UnitGroup> unit_groups(DwarfFile& file, uint64_t bytes = kGroupBytes);

// Calls read(opening, group) for the numbers of all groups, of several threads. The opening has the same units as `file`, and
// lasts as long as the call.
void read_groups(DwarfFile& file, size_t groups, const std::function<void(DwarfFile& opening, size_t group)>& read);

// Calls add(opening, unit, found) for all units. Returns what they have added to `found`, a vector, in the order of the units.
template <typename Found>
Found read_all_units(DwarfFile& file, const std::function<void(DwarfFile& opening, DwarfFile::Unit& unit, Found& found)>& add,
                     uint64_t bytes = kGroupBytes) {
  const std::vector<UnitGroup> groups = unit_groups(file, bytes);
  std::vector<Found> found(groups.size());
  read_groups(file, groups.size(), [&](DwarfFile& opening, size_t group) {
    for (size_t i = groups[group].begin; i < groups[group].end; ++i) {
      DwarfFile::Unit unit = opening.units()[i];
      add(opening, unit, found[group]);
    }
  });
  Found all;
  for (Found& part : found) {
    if (all.empty()) all = std::move(part);
    else all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    part = Found();
  }
  return all;
}

}  // namespace spile::debuginfo
