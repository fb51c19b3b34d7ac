#pragma once
// Counts what handlers had to leave out, by reason, and reports it at the end as SystemTap does.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "session/arena/arena_view.h"

namespace spile::session {

struct Skips {
  std::array<uint64_t, abi::kSkipReasons> by_reason{};
  // Returns the number of handler runs that did not happen, which MAXSKIPPED limits; without lost records and lost elements.
  uint64_t skipped_probes() const;
  uint64_t lost_records() const { return by_reason[abi::kSkipOutputFull]; }
  // Returns the number of all that is missing: runs, returns, records and elements.
  uint64_t all() const;
  // Returns a warning for each reason that occurred. when_full: what to do where an array is full.
  std::vector<std::string> warnings(std::string_view when_full) const;
};
// Adds up the counts of all slots that were ever used.
Skips count_skips(ArenaView& arena);

}  // namespace spile::session
