// spile vars: the variables of a function, at its entry or on a line.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/print.h"
#include "base/visible_text.h"
#include "debuginfo/readable_places.h"
#include "verbs/asking/asked_places.h"
#include "verbs/asking/asking_verbs.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

using debuginfo::Place;
using debuginfo::Variable;

const char* text_of(Variable::Kind kind) {
  switch (kind) {
    case Variable::Kind::kParameter: return "parameter";
    case Variable::Kind::kLocal: return "local";
    case Variable::Kind::kGlobal: return "global";
  }
  return "";
}

// "rdi", "at rsp +16", "in 2 pieces: rdi, rsi"; why not, for one that is unavailable.
std::string text_of(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kUnavailable: return place.reason;
    case Place::Kind::kMemory: return "at " + location::to_string(place.operations);
    case Place::Kind::kValue: return location::to_string(place.operations);
    case Place::Kind::kPieces: break;
  }
  std::string pieces;
  for (const debuginfo::Piece& piece : place.pieces) {
    pieces += pieces.empty() ? "" : ", ";
    if (piece.kind == debuginfo::Piece::Kind::kMissing) pieces += "missing";
    else pieces += (piece.kind == debuginfo::Piece::Kind::kMemory ? "at " : "") + location::to_string(piece.operations);
  }
  return fmt::format("in {} pieces: {}", place.pieces.size(), pieces);
}

using Lines = std::vector<std::pair<int, int>>;

std::string text_of(const Lines& lines) {
  std::string text;
  for (auto [first, last] : lines)
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  return text;
}

// For each variable the lines with code on which it can be read; lines without code between two such lines count, too.
std::map<std::string, Lines> ranges_of(const FunctionSource& source) {
  std::map<std::string, Lines> ranges;
  std::map<std::string, int> previous;  // the last line with code on which it was available
  int before = 0, line = 0;
  for (const debuginfo::CodePlace& statement : source.statements) {
    if (statement.function != source.function.address || statement.scope != 0) continue;
    if (statement.source.line != line) before = line, line = statement.source.line;
    auto variables = source.module->variables(statement.function, statement.address, 0);
    if (!variables.ok()) continue;
    std::set<std::string> seen;  // the innermost of a name hides the others
    for (const Variable& variable : *variables) {
      if (!seen.insert(variable.name).second || !variable.place.available()) continue;
      Lines& lines = ranges[variable.name];
      if (!lines.empty() && (previous[variable.name] == before || previous[variable.name] == line)) lines.back().second = line;
      else lines.emplace_back(line, line);
      previous[variable.name] = line;
    }
  }
  return ranges;
}

struct Point {
  debuginfo::CodePlace place;
  int line = 0;  // 0: the function's entry
};

// The places that are asked about: the entry, or the statements of the line.
std::vector<Point> points_of(const FunctionSource& source, const AskedPlace& asked) {
  std::vector<Point> points;
  if (!asked.has_lines) {
    debuginfo::CodePlace entry;
    entry.address = entry.function = source.function.address;
    points.push_back({entry, 0});
    return points;
  }
  auto [first, last] = lines_in(source, asked);
  for (const debuginfo::CodePlace& statement : source.statements) {
    const bool inside = statement.source.line >= first && statement.source.line <= last;
    const bool is_new = points.empty() || points.back().line != statement.source.line;
    if (inside && is_new) points.push_back({statement, statement.source.line});
  }
  return points;
}

void add_globals(const FunctionSource& source, std::vector<Variable>& variables) {
  for (const std::string& name : source.module->global_names(source.function.address)) {
    auto global = source.module->variable_of_unit(source.function.address, name);
    if (!global.ok()) continue;
    global->kind = Variable::Kind::kGlobal;
    variables.push_back(std::move(*global));
  }
}

Json json_of(const FunctionSource& source, const Point& point, const Variable& variable) {
  Json object = {{"function", source.function.name()},
                 {"module", source.module->path()},
                 {"address", json_address(point.place.address)},
                 {"name", variable.name},
                 {"kind", text_of(variable.kind)},
                 {"type", variable.place.type.name()},
                 {"size", variable.place.type.size()},
                 {"available", variable.place.available()}};
  object[variable.place.available() ? "place" : "reason"] = text_of(variable.place);
  if (source.declared.line > 0) object["file"] = source.declared.file;
  if (point.line > 0) object["line"] = point.line;
  return object;
}

class Printer {
 public:
  explicit Printer(const session::VerbOptions& options) : options_(options) {}

  void print(const FunctionSource& source, const Point& point, const std::vector<Variable>& variables) {
    if (options_.ranges && ranges_of_ != source.function.address)
      ranges_ = ranges_of(source), ranges_of_ = source.function.address;
    if (options_.json) {
      for (const Variable& variable : variables) print_json(with_ranges(json_of(source, point, variable), variable));
      return;
    }
    std::string where = source.function.name();
    if (source.declared.line > 0)
      where += fmt::format(" of {}:{}", source.declared.file, point.line > 0 ? point.line : source.declared.line);
    print_to(stdout, "{}{}, {} at {:#x}{}\n", first_ ? "" : "\n", visible_text(where), point.line > 0 ? "this line" : "its entry",
             point.place.address.value,
             point.place.function != source.function.address || point.place.scope != 0 ? " (an inlined copy)" : "");
    first_ = false;
    if (variables.empty()) print_to(stdout, "  no variables\n");
    print_rows(source, point, variables);
  }

 private:
  Json with_ranges(Json object, const Variable& variable) const {
    if (!options_.ranges || variable.kind == Variable::Kind::kGlobal) return object;
    Json lines = Json::array();
    if (auto found = ranges_.find(variable.name); found != ranges_.end()) {
      for (auto [first, last] : found->second) lines.push_back({first, last});
    }
    object["lines"] = lines;
    return object;
  }

  void print_rows(const FunctionSource& source, const Point& point, const std::vector<Variable>& variables) const {
    constexpr size_t kWidest = 32;
    size_t name_width = 0, type_width = 0;
    for (const Variable& variable : variables) {
      name_width = std::max(name_width, std::min(visible_text(variable.name).size() + 1, kWidest));
      type_width = std::max(type_width, std::min(visible_text(variable.place.type.name()).size(), kWidest));
    }
    for (const Variable& variable : variables) {
      std::string line = fmt::format("  {:<9}  {:<{}}  {:<{}}  {}{}", text_of(variable.kind), "$" + visible_text(variable.name),
                                     name_width, visible_text(variable.place.type.name()), type_width,
                                     variable.place.available() ? "" : "not readable: ", visible_text(text_of(variable.place)));
      if (!options_.ranges && !variable.place.available()) {
        const std::string elsewhere = debuginfo::where_readable(*source.module, point.place.function, point.place.address,
                                                                variable.name, point.place.scope);
        if (!elsewhere.empty()) line += fmt::format("\n{:>13}{}", "", visible_text(elsewhere));
      }
      if (options_.ranges && variable.kind != Variable::Kind::kGlobal) {
        auto found = ranges_.find(variable.name);
        line += found == ranges_.end()
                    ? "; on no line"
                    : (found->second.size() == 1 && found->second[0].first == found->second[0].second ? "; on line "
                                                                                                      : "; on lines ") +
                          text_of(found->second);
      }
      print_to(stdout, "{}\n", line);
    }
  }

  const session::VerbOptions& options_;
  std::map<std::string, Lines> ranges_;
  FileAddress ranges_of_;
  bool first_ = true;
};

}  // namespace

Result<int> answer_vars(const std::vector<std::string>& words, const session::Options& options) {
  TRY(AskedFiles files, open_asked_files("vars", words, options));
  if (files.words.size() != 1) return Error{"vars takes one function", "spile vars FILE f, or f:12 for line 12"};
  TRY(const AskedPlace asked, parse_asked_place(files.words.front()));
  if (asked.function.empty())
    return Error{fmt::format("'{}' names a file, not a function", files.words.front()), "spile vars FILE f, or f@file.c:12"};
  TRY(const std::vector<FunctionSource> sources, functions_at(files, asked, asked.has_lines || options.verb.ranges));
  Printer printer(options.verb);
  size_t found = 0;
  for (const FunctionSource& source : sources) {
    for (const Point& point : points_of(source, asked)) {
      TRY(std::vector<Variable> variables,
          source.module->variables(point.place.function, point.place.address, point.place.scope));
      std::erase_if(variables, [](const Variable& variable) { return variable.name.empty(); });
      if (options.verb.globals) add_globals(source, variables);
      printer.print(source, point, variables);
      ++found;
    }
  }
  if (found > 0) return 0;
  return no_code(sources.front(), asked);
}

}  // namespace spile::verbs
