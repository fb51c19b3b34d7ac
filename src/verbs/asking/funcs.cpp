// spile funcs: functions by name.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/diagnostics.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/visible_text.h"
#include "verbs/asking/asked_files.h"
#include "verbs/asking/asking_verbs.h"
#include "verbs/terms/json_lines.h"
#include "verbs/terms/name_patterns.h"

namespace spile::verbs {

namespace {

using debuginfo::Function;

struct Row {
  std::string name;
  const debuginfo::Module* module;
  Function function;
};

const char* text_of(Function::Source source) {
  switch (source) {
    case Function::Source::kSymtab: return "symtab";
    case Function::Source::kDynsym: return "dynsym";
    case Function::Source::kDwarf: return "dwarf";
    case Function::Source::kUnwind: return "eh_frame";
  }
  return "";
}

// Adds the functions of a module that match. Returns whether any has a wanted name, excluded ones among them.
Result<bool> add_functions(debuginfo::Module& module, const NamePatterns& patterns, bool with_source, std::vector<Row>& rows) {
  std::set<uint64_t> seen;
  bool has_wanted = false;
  for (const std::string& pattern : patterns.wanted) {
    TRY(std::vector<Function> functions, module.functions({pattern, ""}));
    has_wanted |= !functions.empty();
    for (Function& function : functions) {
      std::string name = function.name();
      if (patterns.excludes(name) || !seen.insert(function.address.value).second) continue;
      if (with_source && module.has_debug_info()) {
        if (auto declared = module.declaration(function.address); declared.ok()) function.declared = *declared;
      }
      rows.push_back({std::move(name), &module, std::move(function)});
    }
  }
  return has_wanted;
}

Json json_of(const Row& row) {
  const Function& f = row.function;
  Json object = {{"name", row.name},
                 {"symbol", f.linkage_name},
                 {"aliases", f.aliases},
                 {"module", row.module->path()},
                 {"address", json_address(f.address)},
                 {"size", f.size},
                 {"exported", f.exported},
                 {"ifunc", f.is_ifunc},
                 {"from", text_of(f.source)}};
  if (f.declared.line > 0) object["file"] = f.declared.file, object["line"] = f.declared.line;
  return object;
}

void print_rows(const std::vector<Row>& rows, bool names_module, bool details) {
  constexpr size_t kWidest = 48;
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, std::min(visible_text(row.name).size(), kWidest));
  for (const Row& row : rows) {
    const std::string name = visible_text(row.name);
    std::string line = name;
    if (details) line = fmt::format("{:#010x} {:>7}  {:<{}}", row.function.address.value, row.function.size, name, width);
    else if (names_module) line = fmt::format("{:<{}}", name, width);
    if (details && row.function.declared.line > 0)
      line += fmt::format("  {}:{}", visible_text(row.function.declared.file), row.function.declared.line);
    if (names_module) line += "  " + visible_text(row.module->path());
    print_to(stdout, "{}\n", line);
  }
}

Error nothing_matches(const AskedFiles& files, const NamePatterns& patterns) {
  const std::string what =
      fmt::format("no function of {}{} matches", files.world->program(), files.modules.size() > 1 ? " and its libraries" : "");
  for (const auto& module : files.modules) {
    for (const std::string& pattern : patterns.wanted) {
      const std::vector<std::string> signatures = debuginfo::signatures_of(*module, pattern);
      if (!signatures.empty()) return {what, fmt::format("did you mean '{}'?", signatures.front())};
      const std::vector<std::string> names = module->function_names(pattern);
      for (const std::string& near : {debuginfo::name_with_scopes(*module, pattern), nearest_name(pattern, names)})
        if (!near.empty()) return {what, fmt::format("did you mean '{}'?", near)};
    }
  }
  return {what, {}};
}

}  // namespace

Result<int> answer_funcs(const std::vector<std::string>& words, const session::Options& options) {
  TRY(AskedFiles files, open_asked_files("funcs", words, options));
  TRY(const NamePatterns patterns, parse_name_patterns(files.words));
  const bool details = options.messages.verbosity() > 0;
  std::vector<Row> rows;
  bool has_wanted = false;
  auto search = [&]() -> Result<void> {
    for (const auto& module : files.modules) {
      TRY(const bool found, add_functions(*module, patterns, details, rows));
      has_wanted |= found;
    }
    return {};
  };
  TRY_DO(search());
  // malloc is in no program, but in a library of it.
  if (!has_wanted && !files.has_libraries) {
    add_libraries(files);
    TRY_DO(search());
  }
  if (rows.empty() && has_wanted) return refuse("all functions that match are left out");
  if (rows.empty()) return refuse(nothing_matches(files, patterns));
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.name < b.name; });
  if (options.verb.json) {
    for (const Row& row : rows) print_json(json_of(row));
  } else {
    print_rows(rows, files.modules.size() > 1, details);
  }
  return 0;
}

}  // namespace spile::verbs
