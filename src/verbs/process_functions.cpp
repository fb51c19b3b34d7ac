#include "verbs/process_functions.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "debuginfo/names.h"
#include "session/open_world.h"
#include "syntax/tree.h"

namespace spile::verbs {

namespace {

// Returns the points of a pattern in processes, with their variables.
Result<std::vector<probes::World::ListedPoint>> list_functions(probes::World& world, const std::string& pattern, const char* suffix) {
  syntax::ProbePoint point;
  const auto add = [&](const char* name) {
    point.components.emplace_back();
    point.components.back().name = name;
  };
  add("process");
  add("function");
  point.components.back().text = pattern;
  add(suffix);
  return world.list(point, true);
}

// "process("/bin/x").function("f@x.c:3").call" -> f
std::string function_in(const std::string& point) {
  constexpr std::string_view kHead = ".function(\"";
  const size_t at = point.find(kHead);
  if (at == std::string::npos) return {};
  const size_t begin = at + kHead.size();
  return point.substr(begin, point.find_first_of("@\"", begin) - begin);
}

}  // namespace

Result<std::vector<std::string>> functions_in_processes(const session::TargetOptions& target, const std::vector<std::string>& patterns, const std::vector<std::string>& excluded,
                                                        const FunctionVisitor& visit) {
  TRY(const std::unique_ptr<probes::World> world, session::open_world(target));
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const std::string& pattern : patterns) {
    TRY(const auto points, list_functions(*world, pattern, "call"));
    const auto returns = visit ? list_functions(*world, pattern, "return") : std::vector<probes::World::ListedPoint>();
    for (const auto* listed : {&points, returns.ok() ? &*returns : nullptr}) {
      if (!listed || !visit) continue;
      for (const auto& [point, variables] : *listed) visit(function_in(point), variables);
    }
    for (const auto& [point, variables] : points) {
      std::string name = function_in(point);
      const bool is_excluded = std::ranges::any_of(excluded, [&](const std::string& each) { return debuginfo::glob_matches(each, name); });
      if (!is_excluded && !name.empty() && known.insert(name).second) names.push_back(std::move(name));
    }
  }
  if (names.empty()) return Error{excluded.empty() ? "no function has such a name" : "all functions that match are left out", "spile funcs lists them"};
  return names;
}

}  // namespace spile::verbs
