#include "verbs/terms/process_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "debuginfo/terms/names.h"
#include "session/open_world.h"
#include "syntax/tree.h"
#include "verbs/terms/name_patterns.h"
#include "verbs/terms/option_values.h"

namespace spile::verbs {

namespace {

// Returns the points of a pattern in processes, with their variables. library: a pattern; "": of the program itself.
Result<std::vector<probes::World::ListedPoint>> list_functions(probes::World& world, const std::string& library,
                                                               const std::string& pattern, const char* suffix) {
  syntax::ProbePoint point;
  const auto add = [&](const char* name, const std::string& text = {}) {
    point.components.emplace_back();
    point.components.back().name = name;
    if (!text.empty()) point.components.back().text = text;
  };
  add("process");
  if (!library.empty()) add("library", library);
  add("function", pattern);
  add(suffix);
  return world.list(point, true);
}

// Returns where one of the characters is first from there on, but not behind a backslash.
size_t end_of_text(const std::string& point, size_t at, std::string_view ends) {
  while (at < point.size() && ends.find(point[at]) == ends.npos) at += point[at] == '\\' ? 2 : 1;
  return std::min(at, point.size());
}

// process("/lib/libx.so.1").function(...) -> libx.so.1
std::string file_in(const std::string& point) {
  const size_t begin = point.find('"') + 1;
  const std::string path = point.substr(begin, end_of_text(point, begin, "\"") - begin);
  return path.substr(path.rfind('/') + 1);
}

// "python:gc__done", where the program or a library of it has this SDT mark: the error that says how marks are traced.
std::optional<Error> is_a_mark(probes::World& world, const std::string& word) {
  const size_t colon = word.find(':');
  for (const bool in_library : {false, true}) {
    syntax::ProbePoint point;
    const auto add = [&](const char* name, const std::string& text) {
      point.components.emplace_back();
      point.components.back().name = name;
      if (!text.empty()) point.components.back().text = text;
    };
    add("process", "");
    if (in_library) add("library", "*");
    add("provider", word.substr(0, colon));
    add("mark", word.substr(colon + 1));
    const auto found = world.list(point, false);
    if (!found.ok() || found->empty()) continue;
    return Error{fmt::format("'{}' is an SDT mark, not a function", word),
                 fmt::format("spile -e 'probe {} {{ println($$vars) }}' shows its hits", found->front().text)};
  }
  return {};
}

// Returns the error with a hint where a library of the program has the function.
Error with_library(probes::World& world, const std::string& pattern, Error error) {
  if (pattern.find_first_not_of('*') == std::string::npos) return error;
  const size_t colon = pattern.find(':');
  if (colon != std::string::npos && colon > 0 && pattern.find("::") == std::string::npos) {
    if (auto mark = is_a_mark(world, pattern)) return *mark;
  }
  if (colon != std::string::npos && colon > 0 && pattern.find("::") == std::string::npos &&
      pattern.find('@') == std::string::npos)
    return {error.message, fmt::format("the name of a library has .so, as in 'libc.so.6:malloc' and '{}.so*:{}'",
                                       pattern.substr(0, pattern.find_first_of(".:")), pattern.substr(colon + 1))};
  const auto elsewhere = list_functions(world, "*", pattern, "call");
  if (!elsewhere.ok() || elsewhere->empty()) return error;
  const std::string& point = elsewhere->front().text;
  return {error.message, fmt::format("a library has {}: '{}:{}'", elsewhere->front().function, file_in(point), pattern)};
}

}  // namespace

Result<std::vector<std::string>> functions_in_processes(const session::TargetOptions& target,
                                                        const std::vector<std::string>& patterns,
                                                        const std::vector<std::string>& excluded, const FunctionVisitor& visit) {
  TRY(const std::unique_ptr<probes::World> world, session::open_world(target));
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const std::string& word : patterns) {
    const auto [library, pattern] = library_and_function(word);
    auto found = list_functions(*world, library, pattern, "call");
    if (!found.ok()) return library.empty() ? with_library(*world, pattern, found.error()) : found.error();
    const auto& points = *found;
    const auto returns = visit ? list_functions(*world, library, pattern, "return") : std::vector<probes::World::ListedPoint>();
    const std::string head = library.empty() ? "" : library + ":";
    for (const auto* listed : {&points, returns.ok() ? &*returns : nullptr}) {
      if (!listed || !visit) continue;
      for (const auto& point : *listed) visit(point.function, point.variables);
    }
    for (const auto& point : points) {
      const std::string& name = point.function;
      const bool is_excluded =
          std::ranges::any_of(excluded, [&](const std::string& each) { return pattern_matches(each, name); });
      if (!is_excluded && !name.empty() && known.insert(head + name).second) names.push_back(head + name);
    }
  }
  if (names.empty())
    return Error{excluded.empty() ? "no function has such a name" : "all functions that match are left out",
                 "spile funcs lists them"};
  return names;
}

}  // namespace spile::verbs
