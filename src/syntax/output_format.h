#pragma once
// Describes how records of a script become text: codegen makes these descriptions with the code that writes the records, and
// the reader of the records makes the text by them. Plain values.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "syntax/tree.h"

namespace spile::syntax {

// A printf, or a histogram: how the controller turns a record into text.
struct OutputFormat {
  enum class Kind { kPrintf, kHistogram } kind;
  std::vector<FormatPart> parts;         // kPrintf
  std::vector<ValueType> arguments;      // kPrintf: of the payload, in order (with those for `*`)
  bool is_log = false;                   // kHistogram
  int64_t low = 0, high = 0, width = 0;  // kHistogram: of @hist_linear
  // kPrintf: of `arguments`, whether they are text of the script itself (sema/sharing/own_text.h)
  std::vector<bool> own;
  int32_t elision = 2;       // kHistogram: HIST_ELISION
  bool has_summary = false;  // kHistogram: the payload ends in the percentiles of kSummaryPercents
  std::string unit = {};     // kHistogram with has_summary: of the values
};

// The percentiles that the record of a histogram with has_summary has behind its buckets, a long each.
struct SummaryPercent {
  int64_t percent, scale;  // percent / scale
  const char* name;
};
inline constexpr SummaryPercent kSummaryPercents[] = {{50, 1, "p50"}, {99, 1, "p99"}, {999, 10, "p99.9"}};

inline OutputFormat printf_format(std::vector<FormatPart> parts, std::vector<ValueType> arguments, std::vector<bool> own = {}) {
  OutputFormat format{};
  format.kind = OutputFormat::Kind::kPrintf;
  format.parts = std::move(parts);
  format.arguments = std::move(arguments);
  format.own = std::move(own);
  return format;
}

// A script error that a handler can raise: "division by 0 near operator '/' at a.stp:3:5"; %d and %p take the record's
// arguments in order, %% is a percent sign.
struct ErrorText {
  std::string text;
  std::string place;    // "a.stp:3:5"
  std::string excerpt;  // that line of the script, with a caret (base/source_excerpt.h); empty: the place is in the library
};

}  // namespace spile::syntax
