#include "sema/names/alias_names.h"

#include <string>

#include "base/text/glob.h"

namespace spile::sema {

using namespace syntax;

namespace {

bool ends_in_double_star(const ProbePoint& point) {
  return !point.components.empty() && point.components.back().name.ends_with("**");
}

bool is_internal(const PointComponent& pattern, const PointComponent& name) {
  return name.name.starts_with("__") && !pattern.name.starts_with("__");
}

bool matches(const PointComponent& pattern, const PointComponent& name) {
  return !is_internal(pattern, name) && glob_matches(pattern.name, name.name) && pattern.text == name.text &&
         pattern.number == name.number;
}

}  // namespace

bool begins_with_alias(const ProbePoint& point, const ProbePoint& alias) {
  if (ends_in_double_star(point) && alias.components.size() >= point.components.size()) {
    std::string pattern, name;
    for (const PointComponent& component : point.components) pattern += "." + component.name;
    for (const PointComponent& component : alias.components) {
      if (component.name.starts_with("__")) return false;
      name += "." + component.name;
    }
    return glob_matches(pattern, name);
  }
  if (point.components.size() < alias.components.size()) return false;
  for (size_t i = 0; i < alias.components.size(); ++i) {
    if (!matches(point.components[i], alias.components[i])) return false;
  }
  return true;
}

}  // namespace spile::sema
