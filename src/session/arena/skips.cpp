#include "session/arena/skips.h"

#include <fmt/format.h>

#include <numeric>

namespace spile::session {

namespace {

// ORDER SKIP_REASON (abi/arena.h)
constexpr const char* kTexts[abi::kSkipReasons] = {
    "skipped probes, hit inside another probe's handler (reentrant)",
    "skipped probes, a global's lock could not be taken in time",
    "return probes missed, more threads than thread slots",
    "return probes missed, more pending returns than there is room for (deep recursion, many coroutines, chains of tail calls)",
    "records lost, output ring full (raise -s, or print less)",
    "updates lost, array full",
    "handlers that did nothing, spile had ended",
    "return probes missed, an exception or thread exit skipped them",
};

}  // namespace

uint64_t Skips::skipped_probes() const {
  return by_reason[abi::kSkipReentrant] + by_reason[abi::kSkipLockTimeout] + by_reason[abi::kSkipNoSlot] +
         by_reason[abi::kSkipShadowFull];
}

uint64_t Skips::all() const { return std::accumulate(by_reason.begin(), by_reason.end(), uint64_t{0}); }

std::vector<std::string> Skips::warnings(std::string_view when_full) const {
  std::vector<std::string> warnings;
  for (uint32_t reason = 0; reason < abi::kSkipReasons; ++reason) {
    if (by_reason[reason] == 0) continue;
    warnings.push_back(fmt::format("{} {}", by_reason[reason], kTexts[reason]));
    if (reason == abi::kSkipMapFull) warnings.back() += fmt::format(" ({})", when_full);
  }
  return warnings;
}

Skips count_skips(ArenaView& arena) {
  Skips skips;
  arena.for_each_used_slot([&](uint32_t i) {
    for (uint32_t reason = 0; reason < abi::kSkipReasons; ++reason) skips.by_reason[reason] += arena.slot(i).skipped[reason];
  });
  return skips;
}

}  // namespace spile::session
