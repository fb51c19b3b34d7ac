#pragma once
// What a script prints as JSON (--json and --kafka of a script): an object for each printf, and for what prints otherwise, with
// when, where and by which probe. Described in docs/json.md. Thread rule: one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/record.h"
#include "runs/text/printf_text.h"
#include "syntax/output_format.h"

namespace spile::runs {

// The time in UTC, "2026-11-25T15:02:11.123456789Z", of ns since 1970; "": no calendar has it.
std::string utc_text(int64_t ns);

class EventLines {
 public:
  // points: by index of the probe, its resolved point as people know it.
  explicit EventLines(std::vector<std::string> points) : points_(std::move(points)) {}

  // Appends an object. time_ns: since 1970. text: what would be printed. format: of a record of kind kPrintf, else null; the
  // payload is its arguments. host: where it was, for readers that get events of many places; "": the object does not have it.
  void append(std::string& out, const abi::OwnedHeader& header, int64_t time_ns, std::string_view text,
              const syntax::OutputFormat* format, PayloadReader arguments, std::string_view host = {}) const;

 private:
  std::vector<std::string> points_;
};

}  // namespace spile::runs
