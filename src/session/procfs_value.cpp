#include "session/procfs_value.h"

#include <set>
#include <string>

#include "syntax/visitor.h"

namespace spile::session {

namespace {

using Names = std::set<std::string>;

// "prometheus", "json_data": a point's first component. What a procfs probe is called: procfs, and aliases of it.
std::string head_of(const syntax::ProbePoint& point) { return point.components.empty() ? std::string() : point.components[0].name; }

bool is_procfs(const std::vector<syntax::ProbePoint>& points, const Names& names) {
  return !points.empty() && names.contains(head_of(points[0]));
}

Names procfs_names(const std::vector<syntax::Script>& scripts) {
  Names names = {"procfs"};
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const syntax::Script& script : scripts) {
      for (const auto& alias : script.aliases) {
        if (!is_procfs(alias->points, names)) continue;
        for (const syntax::ProbePoint& name : alias->names) names.insert(head_of(name));
      }
    }
  }
  return names;
}

void replace_value(syntax::Statement& body) {
  syntax::rewrite(body, [](syntax::ExpressionPtr& slot) {
    auto* target = slot->kind == syntax::ExpressionKind::kTargetVariable ? static_cast<syntax::TargetVariable*>(slot.get()) : nullptr;
    if (target && target->name == "$value" && target->path.empty() && !target->address_of) {
      slot = std::make_unique<syntax::Variable>(slot->range, kProcfsValue);
    }
  });
}

}  // namespace

void declare_procfs_value(std::vector<syntax::Script>& scripts) {
  const SourceRange* first = nullptr;
  const Names names = procfs_names(scripts);
  for (syntax::Script& script : scripts) {
    for (auto& probe : script.probes) {
      if (!is_procfs(probe->points, names) || !probe->body) continue;
      if (!first) first = &probe->range;
      replace_value(*probe->body);
    }
    for (auto& alias : script.aliases) {
      if (!is_procfs(alias->points, names) || !alias->body) continue;
      if (!first) first = &alias->range;
      replace_value(*alias->body);
    }
  }
  if (!first) return;
  syntax::Script added;
  added.file = scripts.front().file;
  auto value = std::make_unique<syntax::Global>();
  value->range = *first;
  value->name = kProcfsValue;
  value->from_library = true;
  value->initial = std::make_unique<syntax::String>(*first, "");
  added.globals.push_back(std::move(value));
  scripts.push_back(std::move(added));
}

}  // namespace spile::session
