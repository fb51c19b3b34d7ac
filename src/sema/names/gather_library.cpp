// gather-library: which library scripts take part with probes of their own. A library script's functions, globals and
// aliases are taken one by one where they are used; its probes only run when anything of it is (as SystemTap's tapsets:
// a probe there keeps the library's globals up to date).

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

struct Names {
  std::set<std::string> called;
  std::set<std::string> variables;
  std::set<std::string> first_components;

  void add(const Expression& e) {
    for_each_expression(e, [&](const Expression& x) { note(x); });
  }
  void add(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { note(x); });
  }
  void add(const std::vector<ProbePoint>& points) {
    for (const ProbePoint& point : points) {
      if (!point.components.empty()) first_components.insert(point.components[0].name);
      if (point.condition) add(*point.condition);
    }
  }

 private:
  void note(const Expression& x) {
    if (auto* call = as<Call>(x)) called.insert(call->name);
    if (auto* variable = as<Variable>(x)) variables.insert(variable->name);
  }
};

// Adds the names that a declaration of the library refers to, if the declaration is referred to itself; true if it is.
bool uses_script(const Script& script, const Names& names, Names& more) {
  bool used = false;
  for (const auto& function : script.functions) {
    if (function->is_private || !names.called.count(function->name)) continue;
    used = true;
    if (function->body) more.add(*function->body);
  }
  for (const auto& global : script.globals) used |= !global->is_private && names.variables.count(global->name) > 0;
  for (const auto& alias : script.aliases) {
    bool matches = false;
    for (const ProbePoint& name : alias->names) {
      matches |= !name.components.empty() && names.first_components.count(name.components[0].name) > 0;
    }
    if (!matches) continue;
    used = true;
    if (alias->body) more.add(*alias->body);
    if (alias->closing) more.add(*alias->closing);
    more.add(alias->points);
  }
  return used;
}

}  // namespace

void gather_library(Elaboration& e) {
  if (e.program.scripts.size() < 2) return;
  Names names;
  for (const Script& user : e.program.scripts) {
    if (!Elaboration::is_user_script(user)) continue;
    for (const auto& probe : user.probes) {
      names.add(probe->points);
      if (probe->body) names.add(*probe->body);
    }
    for (const auto& function : user.functions) {
      if (function->body) names.add(*function->body);
    }
    for (const auto& alias : user.aliases) {
      names.add(alias->points);
      if (alias->body) names.add(*alias->body);
      if (alias->closing) names.add(*alias->closing);
    }
  }

  // To the fixpoint: what a library script uses may be in another one.
  for (bool grew = true; grew;) {
    grew = false;
    Names before = names;
    for (size_t i = 1; i < e.program.scripts.size(); ++i) {
      const Script& script = e.program.scripts[i];
      if (Elaboration::is_user_script(script)) continue;
      if (!uses_script(script, before, names) || script.probes.empty()) continue;
      if (!e.active_libraries.insert(&script).second) continue;
      for (const auto& probe : script.probes) {
        names.add(probe->points);
        if (probe->body) names.add(*probe->body);
      }
    }
    grew = names.called.size() > before.called.size() || names.variables.size() > before.variables.size() ||
           names.first_components.size() > before.first_components.size();
  }
}

}  // namespace spile::sema
