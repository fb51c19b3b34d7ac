#include "session/output/record_sink.h"

#include "base/clock.h"

namespace spile::session {

bool has_text(const abi::RecordHeader& header) {
  return header.kind == abi::kPrintf || header.kind == abi::kHistogram || header.kind == abi::kText;
}

bool has_addresses(const abi::RecordHeader& header) {
  return header.kind == abi::kBacktrace || header.kind == abi::kSymbols || header.kind == abi::kUserStack ||
         header.kind == abi::kKernelBacktrace || header.kind == abi::kKernelSymbols;
}

// Records of a ring buffer of the kernel have its monotonic time (abi/record.h).
int64_t time_of(const Record& record, const ArenaView& arena) {
  return record.origin == Record::Origin::kKernelRing ? static_cast<int64_t>(record.header.time) + realtime_offset_ns()
                                                      : arena.time_of(record.header.time);
}

}  // namespace spile::session
