#pragma once
// Calls that have ended, as return probes note them (call_history_add()), in memory of each thread's slot that overwrites its
// oldest. Freestanding.
//
//   slot + calls_offset      CallRecord[capacity], capacity a power of two; call n lies at n & (capacity - 1)
//   ThreadSlot::noted_calls  calls ever noted by owners of the slot; published with release
//   ThreadSlot::first_noted  the number that it had when noted_owner, the present or last owner, claimed the slot
//
// ArenaHeader::calls_until: calls that begin later than this time are not noted. ~0: all are. A handler, or spile, sets it to the
// present time to stop the noting; spile sets it back when it has read what there is. Calls that began before are noted also
// then: at most as many as are pending, so the calls around what is of interest are there. The owner writes its calls; processes
// may write anything to all of this at any time.

#include <stdint.h>

namespace spile::abi {

struct CallRecord {
  uint64_t begun, ended;  // readings of the time counter
  uint64_t stack;         // CFA
  uint32_t site;          // Context::site_id of the return probe's point
  uint32_t probe;         // index into Program::probes
};
static_assert(sizeof(CallRecord) == 32);

inline constexpr uint64_t kAllCalls = ~uint64_t{0};

}  // namespace spile::abi
