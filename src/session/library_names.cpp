#include "session/library_names.h"

#include <fnmatch.h>

#include "syntax/visitor.h"

namespace spile::session {

using namespace syntax;

namespace {

void note(ReferredNames& names, const Expression& x) {
  if (auto* call = as<Call>(x)) names.functions.insert(call->name);
  if (auto* variable = as<Variable>(x)) names.variables.insert(variable->name);
}

}  // namespace

void ReferredNames::add(const Expression& expression) {
  for_each_expression(expression, [&](const Expression& x) { note(*this, x); });
}

void ReferredNames::add(const Statement& statement) {
  for_each_expression(statement, [&](const Expression& x) { note(*this, x); });
}

void ReferredNames::add(const std::vector<ProbePoint>& points) {
  for (const ProbePoint& point : points) {
    if (!point.components.empty()) alias_heads.insert(point.components[0].name);
    if (point.condition) add(*point.condition);
  }
}

void ReferredNames::add(const Function& function) {
  for (const ExpressionPtr& initial : function.defaults) {
    if (initial) add(*initial);
  }
  if (function.body) add(*function.body);
}

void ReferredNames::add(const Alias& alias) {
  add(alias.points);
  if (alias.body) add(static_cast<const Statement&>(*alias.body));
  if (alias.closing) add(static_cast<const Statement&>(*alias.closing));
}

void ReferredNames::add(const Probe& probe) {
  add(probe.points);
  if (probe.body) add(static_cast<const Statement&>(*probe.body));
}

bool may_match(const std::string& written, std::string_view head) {
  if (written.find_first_of("*?[{") == std::string::npos) return written == head;
  std::string pattern;
  for (size_t i = 0; i < written.size(); ++i) {
    pattern += written[i] == '{' ? '*' : written[i];
    if (written[i] == '{') i = std::min(written.find('}', i), written.size() - 1);
  }
  return fnmatch(pattern.c_str(), std::string(head).c_str(), 0) == 0;
}

}  // namespace spile::session
