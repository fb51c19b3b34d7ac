#pragma once
// What --when of `spile snap` says: FUNCTION > TIME, FUNCTION if EXPRESSION, FUNCTION.return if EXPRESSION.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace spile::verbs {

struct SnapCondition {
  std::string function;         // a name or pattern
  int64_t over_ns = 0;          // of "f > 5ms"; 0: it is an expression
  std::string expression = {};  // of the script language
  bool at_return = true;
};

// Errors: it is none of these; a function's name or a time has no meaning.
Result<SnapCondition> parse_condition(const std::string& text);
// Returns the probe that stops the noting of calls where the condition holds, and prints "snap PID TID NS FUNCTION DURATION" (-1:
// not known).
std::string condition_probe(const SnapCondition& condition);

}  // namespace spile::verbs
