#include "session/procfs_value.h"

#include "syntax/visitor.h"

namespace spile::session {

namespace {

bool is_procfs(const std::vector<syntax::ProbePoint>& points) {
  return !points.empty() && !points[0].components.empty() && points[0].components[0].name == "procfs";
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
  for (syntax::Script& script : scripts) {
    for (auto& probe : script.probes) {
      if (!is_procfs(probe->points) || !probe->body) continue;
      if (!first) first = &probe->range;
      replace_value(*probe->body);
    }
    for (auto& alias : script.aliases) {
      if (!is_procfs(alias->points) || !alias->body) continue;
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
