// gather-library: which library scripts take part with probes of their own. A library script's functions, globals and
// aliases are taken one by one where they are used; its probes only run when anything of it is (as SystemTap's tapsets:
// a probe there keeps the library's globals up to date).
//
// An alias is used by points that may mean it: they begin with its name, or are the beginning of it, as an alias over them may
// add components (`vm.fault` and `.return`).

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text/glob.h"
#include "sema/names/alias_names.h"
#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

struct Names {
  std::set<std::string> called;
  std::set<std::string> variables;
  std::map<std::string, std::set<const ProbePoint*>> points;  // by their first component

  void add(const Expression& e) {
    for_each_expression(e, [&](const Expression& x) { note(x); });
  }
  void add(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { note(x); });
  }
  void add(const std::vector<ProbePoint>& more) {
    for (const ProbePoint& point : more) {
      if (!point.components.empty()) points[point.components[0].name].insert(&point);
      if (point.condition) add(*point.condition);
    }
  }

  size_t size() const {
    size_t count = called.size() + variables.size();
    for (const auto& [head, its] : points) count += its.size();
    return count;
  }

 private:
  void note(const Expression& x) {
    if (auto* call = as<Call>(x)) called.insert(call->name);
    if (auto* variable = as<Variable>(x)) variables.insert(variable->name);
  }
};

// What the user's script declares itself, and so does not mean the library's by these names.
struct Own {
  std::set<std::pair<std::string, size_t>> functions;  // name and number of parameters
  std::set<std::string> globals;
};

// Whether the point may come to mean an alias. Braces are not expanded here: what they stand for is any name.
bool may_mean(const ProbePoint& point, const ProbePoint& name) {
  const auto has_braces = [](const PointComponent& part) { return part.name.find('{') != std::string::npos; };
  if (std::ranges::any_of(point.components, has_braces)) return true;
  if (begins_with_alias(point, name)) return true;
  ProbePoint beginning;
  for (size_t i = 0; i < std::min(point.components.size(), name.components.size()); ++i)
    beginning.components.push_back(name.components[i]);
  return begins_with_alias(point, beginning);
}
bool may_mean(const Names& names, const ProbePoint& name) {
  if (name.components.empty()) return false;
  return std::ranges::any_of(names.points, [&](const auto& of_head) {
    const std::string& head = of_head.first;
    if (head != name.components[0].name && !is_glob(head) && head.find('{') == std::string::npos) return false;
    return std::ranges::any_of(of_head.second, [&](const ProbePoint* point) { return may_mean(*point, name); });
  });
}

// Adds the names that a declaration of the library refers to, if the declaration is referred to itself; true if it is.
bool uses_script(const Script& script, const Own& own, const Names& names, Names& more) {
  bool used = false;
  for (const auto& function : script.functions) {
    if (!names.called.count(function->name)) continue;
    if (!function->is_private && own.functions.contains({function->name, function->parameters.size()})) continue;
    used |= !function->is_private;  // a private one is called by others of the script
    if (function->body) more.add(*function->body);
  }
  for (const auto& global : script.globals)
    used |= !global->is_private && names.variables.count(global->name) > 0 && !own.globals.contains(global->name);
  for (const auto& alias : script.aliases) {
    const bool matches = std::ranges::any_of(alias->names, [&](const ProbePoint& name) { return may_mean(names, name); });
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
  Own own;
  for (const Script& user : e.program.scripts) {
    if (!Elaboration::is_user_script(user)) continue;
    for (const auto& probe : user.probes) {
      names.add(probe->points);
      if (probe->body) names.add(*probe->body);
    }
    for (const auto& global : user.globals) own.globals.insert(global->name);
    for (const auto& function : user.functions) {
      own.functions.insert({function->name, function->parameters.size()});
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
      if (!uses_script(script, own, before, names) || script.probes.empty()) continue;
      if (!e.active_libraries.insert(&script).second) continue;
      for (const auto& probe : script.probes) {
        names.add(probe->points);
        if (probe->body) names.add(*probe->body);
      }
    }
    grew = names.size() > before.size();
  }
}

}  // namespace spile::sema
