#pragma once
// How sites were armed, or why not.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spile::engine {

// How a site was armed. ORDER MECHANISM (mechanism_name)
enum class Mechanism : uint8_t {
  kJump,       // 5-byte jump over displaced instructions
  kNop,        // 5-byte jump over a nop: nothing displaced
  kShortJump,  // 2-byte jump to a 5-byte jump nearby, in padding or in the place of displaced instructions
  kPunned,     // a jump whose displacement shares bytes with the following instructions
  kInt3,       // breakpoint
  kRefused,    // see SiteOutcome::reason
};
// Returns the mechanism's name in reports: "jump", "short jump".
const char* mechanism_name(Mechanism mechanism);

struct SiteOutcome {
  uint32_t site_id = 0;
  pid_t pid = 0;  // one of the processes that share the memory in which the site is
  Mechanism mechanism = Mechanism::kRefused;
  std::string reason;  // why refused; empty otherwise
  // with kRefused: only the returns are refused, and another outcome of the same site is for the entry
  bool only_returns = false;
};

struct ArmReport {
  std::vector<SiteOutcome> outcomes;  // of each request in each memory that has its module loaded; may be several (only_returns)
  // the time in which targets ran: reading, decoding, building trampolines; the sum of all processes
  uint64_t prepare_ns = 0;
  uint64_t pause_ns = 0;        // the longest time for which all threads of one process stood still
  uint64_t total_pause_ns = 0;  // the sum of all pauses of all processes

  // Counts the outcomes that are not kRefused.
  size_t armed() const;
};

}  // namespace spile::engine
