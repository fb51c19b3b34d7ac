#include "verbs/asking/asked_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/diagnostics.h"

namespace spile::verbs {

namespace {

// "12", "10-40". False: it is not that.
bool read_lines(std::string_view text, AskedPlace& place) {
  auto number = [](std::string_view digits, int& value) {
    auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return !digits.empty() && failure == std::errc() && end == digits.data() + digits.size();
  };
  const size_t dash = text.find('-');
  if (!number(text.substr(0, dash), place.first)) return false;
  place.last = place.first;
  return dash == std::string_view::npos || number(text.substr(dash + 1), place.last);
}

// A name with a folder, or with an ending as source files have them. No function's name has a dot, but for clones (f.part.0).
bool is_file(const std::string& name) {
  static constexpr std::string_view kEndings[] = {".c",   ".h",  ".cc", ".cpp", ".cxx", ".C", ".hh",  ".hpp",
                                                  ".hxx", ".rs", ".go", ".l",   ".y",   ".S", ".inc", ".def"};
  return name.find('/') != std::string::npos || std::ranges::any_of(kEndings, [&](std::string_view ending) {
           return name.ends_with(ending) && name.size() > ending.size();
         });
}

Error no_function(const AskedFiles& files, const AskedPlace& place) {
  const std::string& name = place.function;
  const std::string what =
      fmt::format("no function '{}'{} in {}{}", name, place.file.empty() ? "" : fmt::format(" of source file '{}'", place.file),
                  files.world->program(), files.modules.size() > 1 ? " and its libraries" : "");
  for (const auto& module : files.modules) {
    if (!place.file.empty()) break;
    if (std::string whole = debuginfo::name_with_scopes(*module, name); !whole.empty())
      return {what, fmt::format("did you mean '{}'?", whole)};
    if (std::string near = nearest_name(name, module->function_names(name)); !near.empty())
      return {what, fmt::format("did you mean '{}'?", near)};
  }
  if (!files.modules.empty() && !files.modules.front()->has_debug_info())
    return files.modules.front()->needs_debug_info(what, "");
  return {what, "spile funcs lists the functions that there are"};
}

Result<FunctionSource> source_of(const std::shared_ptr<debuginfo::Module>& module, debuginfo::Function function,
                                 bool with_statements) {
  FunctionSource source;
  source.module = module;
  source.function = std::move(function);
  if (!module->has_debug_info())
    return Error{fmt::format("{} has no debug information", module->path()), "install its -dbgsym package, or build it with -g"};
  TRY(source.declared, module->declaration(source.function.address));
  if (!with_statements) return source;
  // The file's own path: a pattern matches its last components, and brackets in it are not a pattern here.
  std::string file;
  for (char c : source.declared.file) file += c == '[' || c == '*' || c == '?' ? '?' : c;
  TRY(source.statements, module->statements(file));
  std::erase_if(source.statements, [&](const debuginfo::CodePlace& place) {
    return place.function != source.function.address && place.linkage_name != source.function.linkage_name;
  });
  // Code of functions that were inlined into this one is theirs.
  std::erase_if(source.statements, [&](const debuginfo::CodePlace& place) {
    return place.linkage_name != source.function.linkage_name && place.scope != 0;
  });
  std::ranges::stable_sort(source.statements, {},
                           [](const debuginfo::CodePlace& place) { return std::pair(place.source.line, place.address.value); });
  return source;
}

}  // namespace

Result<AskedPlace> parse_asked_place(const std::string& word) {
  AskedPlace place;
  std::string name = word;
  const size_t end = name.find_last_of(":+");
  const bool is_scope = end != std::string::npos && end > 0 && name[end] == ':' && name[end - 1] == ':';
  if (end != std::string::npos && !is_scope && end + 1 < name.size() && isdigit(static_cast<unsigned char>(name[end + 1]))) {
    if (!read_lines(std::string_view(name).substr(end + 1), place)) {
      return Error{fmt::format("'{}': '{}' is not a line", word, name.substr(end + 1)), "as in f:12, f:10-40 or file.c:10-40"};
    }
    place.has_lines = true;
    place.relative = name[end] == '+';
    name.resize(end);
  } else if (name.ends_with(':') || name.ends_with('+')) {
    return Error{fmt::format("'{}' has no line behind '{}'", word, name.back()), "as in f:12, f:10-40 or file.c:10-40"};
  }
  if (place.last < place.first) return Error{fmt::format("'{}' ends before it begins", word), ""};
  const size_t at = name.find('@');
  place.function = name.substr(0, at);
  if (at != std::string::npos) {
    place.file = name.substr(at + 1);
    if (place.file.empty()) return Error{fmt::format("'{}' has no file behind '@'", word), ""};
  } else if (is_file(name)) {
    place.file = std::exchange(place.function, {});
  }
  if (place.function.empty() && place.has_lines && place.first == 0)
    return Error{fmt::format("'{}': the lines of a file are counted from 1", word), ""};
  if (place.function.empty() && place.file.empty()) return Error{fmt::format("'{}' names no function or file", word), ""};
  return place;
}

Result<std::vector<FunctionSource>> functions_at(AskedFiles& files, const AskedPlace& place, bool with_statements) {
  std::vector<FunctionSource> sources;
  std::optional<Error> failure;
  auto search = [&] {
    for (const auto& module : files.modules) {
      auto functions = module->functions({place.function, place.file});
      if (!functions.ok()) {
        if (!failure) failure = functions.error();
        continue;
      }
      for (debuginfo::Function& function : *functions) {
        if (function.is_ifunc) continue;
        auto source = source_of(module, std::move(function), with_statements);
        if (source.ok()) sources.push_back(std::move(*source));
        else if (!failure) failure = source.error();
      }
    }
  };
  search();
  if (sources.empty() && !failure && !files.has_libraries) {
    add_libraries(files);
    search();
  }
  if (!sources.empty()) return sources;
  return failure ? *failure : no_function(files, place);
}

Error no_code(const FunctionSource& source, const AskedPlace& place) {
  auto [first, last] = lines_in(source, place);
  const std::string hint = source.statements.empty() ? ""
                                                     : fmt::format("its code is on lines {} to {}",
                                                                   source.statements.front().source.line, source.last_line());
  if (first == last) return {fmt::format("line {} of '{}' has no code", first, source.function.name()), hint};
  return {fmt::format("lines {} to {} of '{}' have no code", first, last, source.function.name()), hint};
}

std::pair<int, int> lines_in(const FunctionSource& source, const AskedPlace& place) {
  if (!place.has_lines) return {source.declared.line, source.last_line()};
  const bool in_file =
      !place.relative && std::max(place.first, place.last) >= source.declared.line && place.first <= source.last_line();
  const int from = in_file || source.declared.line == 0 ? 0 : source.declared.line;
  return {from + place.first, from + place.last};
}

}  // namespace spile::verbs
