#pragma once
// A record of a handler (abi/record.h) on its way, and the interface of what takes records in order of time. Thread rule: one
// thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "abi/record.h"
#include "runs/text/printf_text.h"
#include "session/arena/arena_view.h"

namespace spile::session {

// The payload is valid as long as the call that hands the record over.
struct Record {
  // Who can have written it. kController: spile itself. kTarget: any traced process, whatever the script's handlers do. kKernel:
  // a handler in the kernel, in a ring of the arena; kKernelRing: in a ring buffer of the kernel's.
  enum class Origin : uint8_t { kController, kTarget, kKernel, kKernelRing };

  abi::OwnedHeader header;  // where records have no owner, the owner is all 0
  const char* payload;
  size_t size;  // of the payload, bytes
  Origin origin;

  // Returns a reader of the arguments, from the first on.
  runs::PayloadReader arguments() const { return {payload, size}; }
  // Returns the first argument, a string, cut to the length that a handler can make. most: codegen::CompiledScript::string_limit.
  std::string_view text_argument(size_t most) const { return arguments().next_string().substr(0, most); }
  // Returns whether no handler of the script need have written it.
  bool is_forgeable() const { return origin != Origin::kController; }
};

// Return whether a record of this kind prints: its text, or the names of addresses, which spile finds when it reads the record.
bool has_text(const abi::RecordHeader& header);
bool has_addresses(const abi::RecordHeader& header);
inline bool prints(const abi::RecordHeader& header) { return has_text(header) || has_addresses(header); }

// Returns when the record was written, in ns since 1970. arena: whose clock dates records.
int64_t time_of(const Record& record, const ArenaView& arena);

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // Takes a record. Sinks that show what is printed get records for which prints() holds, and no others.
  virtual void take(const Record& record) = 0;
  // Makes what was taken until now visible to its reader. Called after the last of several records.
  virtual void flush() {}
};

}  // namespace spile::session
