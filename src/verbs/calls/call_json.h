#pragma once
// Calls as JSON Lines (docs/verbs.md has the schema).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/calls/call_values.h"

namespace spile::verbs {

struct CallRecord {
  uint64_t id = 0, parent = 0;  // parent 0: a root
  uint64_t root = 0;            // the outermost call
  int64_t pid = 0, tid = 0, flow = 0;
  std::string thread;
  int depth = 1;
  std::string function;
  std::vector<CallValue> arguments;
  std::optional<CallValue> result;
  int64_t began = 0, duration = 0;  // ns
  bool returned = false, runs = false;
};

// Returns an object and a newline. Bytes that are not UTF-8 are replaced.
std::string json_line(const CallRecord& record);

}  // namespace spile::verbs
