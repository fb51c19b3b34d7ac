#include "debuginfo/readable_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "debuginfo/debuginfo.h"

namespace spile::debuginfo {
namespace {

bool is_readable(Module& module, FileAddress function, FileAddress pc, const std::string& name, uint64_t scope) {
  auto variables = module.variables(function, pc, scope);
  if (!variables.ok()) return false;
  // The innermost of a name hides the others.
  auto found = std::ranges::find(*variables, name, &Variable::name);
  return found != variables->end() && found->place.available();
}

uint64_t distance(FileAddress a, FileAddress b) { return a > b ? a.value - b.value : b.value - a.value; }

// The nearest beginning of a line where the variable can be read; nullopt: none of those that were tried.
std::optional<CodePlace> nearest_line(Module& module, FileAddress function, FileAddress pc, const std::string& name,
                                      uint64_t scope, const std::vector<CodeRange>& ranges) {
  constexpr size_t kMostTried = 200;
  CodePlaces statements = module.statements_in(function);
  std::erase_if(statements, [&](const CodePlace& place) {
    const bool has_value = std::ranges::any_of(
        ranges, [&](const CodeRange& range) { return place.address >= range.begin && place.address < range.end; });
    return place.scope != scope || !has_value || place.address == pc || place.address == function;
  });
  std::ranges::sort(statements, {}, [&](const CodePlace& place) { return distance(place.address, pc); });
  if (statements.size() > kMostTried) statements.resize(kMostTried);
  for (CodePlace& place : statements)
    if (is_readable(module, function, place.address, name, scope)) return std::move(place);
  return std::nullopt;
}

std::string text_of(const std::vector<CodeRange>& ranges, FileAddress function) {
  constexpr size_t kMostShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(ranges.size(), kMostShown); ++i) {
    auto offset = [&](FileAddress address) { return static_cast<int64_t>(address.value - function.value); };
    text += fmt::format("{}{}-{}", i ? "," : "", offset(ranges[i].begin), offset(ranges[i].end));
  }
  return text + (ranges.size() > kMostShown ? ",..." : "");
}

}  // namespace

std::string where_readable(Module& module, FileAddress function, FileAddress pc, const std::string& name, uint64_t scope) {
  const std::vector<CodeRange> ranges = module.value_ranges(function, name, scope);
  if (ranges.empty() || is_readable(module, function, pc, name, scope)) return {};
  const auto around = module.function_at(function);
  const std::string function_name = around ? around->name() : "the function";
  // A place for all of the function, which is not filled yet, says nothing about where the value is.
  const bool covers = std::ranges::any_of(ranges, [&](const CodeRange& range) { return pc >= range.begin && pc < range.end; });
  std::string text;
  if (!covers) text = fmt::format("it has a value at {}+[{}]", function_name, text_of(ranges, function));
  if (auto line = nearest_line(module, function, pc, name, scope, ranges)) {
    const std::string file = line->source.file.substr(line->source.file.rfind('/') + 1);
    text += fmt::format("{}the nearest line where it can be read is {}", text.empty() ? "" : "; ", line->source.line);
    const bool is_whole = scope == 0 && around;
    if (is_whole) text += fmt::format(": statement(\"{}@{}:{}\")", function_name, file, line->source.line);
  }
  return text;
}

}  // namespace spile::debuginfo
