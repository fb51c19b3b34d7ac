#pragma once
// What handlers had to leave out, by reason, reported at the end as SystemTap does.

#include <array>
#include <cstdint>
#include <string>

#include "session/arena_view.h"

namespace spile::session {

struct Skips {
  std::array<uint64_t, abi::kSkipReasons> by_reason{};
  // Handler runs that did not happen: what MAXSKIPPED limits. Lost records and elements are reported, not limited.
  uint64_t skipped_probes() const;
  uint64_t lost_records() const { return by_reason[abi::kSkipOutputFull]; }
  // "WARNING: ..." lines, or empty.
  std::string text() const;
};
Skips count_skips(ArenaView& arena);

}  // namespace spile::session
