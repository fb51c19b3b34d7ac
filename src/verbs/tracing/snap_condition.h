#pragma once
// What --when of `spile snap` says: FUNCTION > TIME, FUNCTION if EXPRESSION, FUNCTION.return if EXPRESSION.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "verbs/terms/script_text.h"

namespace spile::verbs {

struct SnapCondition {
  std::string function;         // a name or pattern
  int64_t over_ns = 0;          // of "f > 5ms"; 0: it is an expression
  std::string expression = {};  // of the script language
  bool at_return = true;
};

// Errors: it is none of these; a function's name or a time has no meaning.
Result<SnapCondition> parse_condition(const std::string& text);
// Adds what snap.stp says of the condition: of a probe that stops the noting of calls where it holds, and prints "snap PID TID NS
// FUNCTION DURATION" (-1: not known). condition.function "": there is no such probe.
void add_values(const SnapCondition& condition, ScriptValues& values);

}  // namespace spile::verbs
