#include "debuginfo/dwarf/unit_passes.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "debuginfo/files/side_threads.h"

namespace spile::debuginfo {

std::vector<UnitGroup> unit_groups(DwarfFile& file, uint64_t bytes) {
  const std::vector<DwarfFile::Unit>& units = file.units();
  std::vector<UnitGroup> groups;
  uint64_t first = 0;  // offset of the group's first unit
  for (size_t i = 0; i < units.size(); ++i) {
    DwarfFile::Unit unit = units[i];
    const auto begin = file.begin_of(unit);
    const bool fits = !groups.empty() && (!begin || (*begin >= first && *begin - first < bytes));
    if (fits) {
      groups.back().end = i + 1;
      continue;
    }
    groups.push_back({i, i + 1});
    first = begin.value_or(0);
  }
  return groups;
}

void read_groups(DwarfFile& file, size_t groups, const std::function<void(DwarfFile& opening, size_t group)>& read) {
  // A small file is read as it is: what libdw keeps of it is used again.
  constexpr size_t kFew = 2;
  const bool apart = groups > kFew && file.reopened() != nullptr;
  if (!apart) {
    for (size_t i = 0; i < groups; ++i) read(file, i);
    return;
  }
  // Each thread's opening costs memory, so that there are four at most.
  constexpr size_t kMostThreads = 4;
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<std::atomic<bool>> done(groups);
  work_together(file.shares_alternate() ? 1 : std::min(count_processors(), kMostThreads), [&] {
    for (size_t i; !failed && (i = next++) < groups;) {
      const std::unique_ptr<DwarfFile> opening = file.reopened();
      if (!opening) {
        failed = true;
        return;
      }
      read(*opening, i);
      done[i] = true;
    }
  });
  // No more openings were to be had (of descriptors, say).
  for (size_t i = 0; i < groups; ++i)
    if (!done[i]) read(file, i);
}

}  // namespace spile::debuginfo
