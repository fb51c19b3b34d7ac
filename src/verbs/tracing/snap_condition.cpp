#include "verbs/tracing/snap_condition.h"

#include <fmt/format.h>

#include "verbs/terms/option_values.h"

namespace spile::verbs {

namespace {

constexpr const char* kForms = "it can be 'f > 5ms', 'f if $size > 100' (at the call) or 'f.return if $return < 0'";

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

}  // namespace

Result<SnapCondition> parse_condition(const std::string& text) {
  SnapCondition condition;
  const size_t if_at = text.find(" if "), over_at = text.find('>');
  if (if_at != std::string::npos && (over_at == std::string::npos || if_at < over_at)) {
    condition.function = trimmed(text.substr(0, if_at));
    condition.expression = trimmed(text.substr(if_at + 4));
    condition.at_return = condition.function.ends_with(".return");
    if (condition.at_return) condition.function.resize(condition.function.size() - std::string_view(".return").size());
    if (condition.expression.empty()) return Error{fmt::format("--when {}: the expression behind 'if' is missing", text), kForms};
    TRY_DO(check_expression("--when", condition.expression));
  } else if (over_at != std::string::npos) {
    condition.function = trimmed(text.substr(0, over_at));
    TRY(condition.over_ns, parse_time("--when", trimmed(text.substr(over_at + 1))));
    if (condition.over_ns == 0) return Error{fmt::format("--when {}: every call takes longer than 0", text), kForms};
  } else {
    return Error{fmt::format("--when {}: not a condition", text), kForms};
  }
  if (condition.function.empty()) return Error{fmt::format("--when {}: it names no function", text), kForms};
  TRY(condition.function, parse_function(condition.function));
  return condition;
}

void add_values(const SnapCondition& condition, ScriptValues& values) {
  const bool is_given = !condition.function.empty(), is_timed = condition.over_ns > 0;
  values.emplace_back("WHEN", is_given ? function_point(condition.function) + (condition.at_return ? ".return" : ".call") : "");
  values.emplace_back("OVER_NS", is_timed ? std::to_string(condition.over_ns) : "");
  values.emplace_back("CONDITION", is_given && !is_timed ? condition.expression : "");
}

}  // namespace spile::verbs
