#include "session/scripts/library_names.h"

#include "base/text/glob.h"
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
    if (!point.components.empty()) alias_heads.insert(head_of(point));
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

std::string head_of(const ProbePoint& point) {
  std::string head = point.components[0].name;
  // `a**` matches any number of components.
  const bool any_depth = head.ends_with("**");
  if (point.components.size() > 1 && !any_depth) head += "." + point.components[1].name;
  return head;
}

namespace {

// written: one component, with its globs and braces.
bool component_may_match(std::string_view written, std::string_view name) {
  if (written.find_first_of("*?[{") == std::string_view::npos) return written == name;
  std::string pattern;
  for (size_t i = 0; i < written.size(); ++i) {
    pattern += written[i] == '{' ? '*' : written[i];
    if (written[i] == '{') i = std::min(written.find('}', i), written.size() - 1);
  }
  return glob_matches(pattern, name);
}

std::pair<std::string_view, std::string_view> parts_of(std::string_view head) {
  const size_t dot = head.find('.');
  if (dot == std::string_view::npos) return {head, {}};
  return {head.substr(0, dot), head.substr(dot + 1)};
}

}  // namespace

bool may_match(const std::string& written, std::string_view head) {
  auto [family, rest] = parts_of(written);
  auto [alias_family, alias_rest] = parts_of(head);
  if (family.ends_with("**")) return component_may_match(family, alias_family);
  if (!component_may_match(family, alias_family)) return false;
  if (rest.empty() || alias_rest.empty()) return true;
  // FAMILY.__any serves in place of others of the family.
  const bool is_pattern = rest.find_first_of("*?[{") != std::string_view::npos;
  return component_may_match(rest, alias_rest) || (is_pattern && alias_rest == "__any");
}

}  // namespace spile::session
