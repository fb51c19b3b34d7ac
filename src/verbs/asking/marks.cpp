// spile marks: SDT marks, https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "base/messages.h"
#include "base/print.h"
#include "base/text/glob.h"
#include "base/visible_text.h"
#include "probes/binding/mark_arguments.h"
#include "verbs/asking/asked_files.h"
#include "verbs/asking/asking_verbs.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

struct Argument {
  std::string type;        // "int32_t"
  std::string operand;     // "%eax", as the assembler writes it
  std::string unreadable;  // why a handler can't read it; "": it can
};

std::vector<Argument> arguments_of(const debuginfo::Mark& mark, debuginfo::Module& module) {
  std::vector<Argument> arguments;
  for (const std::string& description : probes::mark_arguments(mark.arguments)) {
    const size_t at = description.find('@');
    const std::string size = at == std::string::npos ? "8" : description.substr(0, at);
    const bool is_float = size.ends_with('f'), is_signed = size.starts_with('-');
    const long bits = 8 * std::labs(std::strtol(size.c_str(), nullptr, 10));
    Argument argument;
    argument.type = is_float ? (bits == 32 ? "float" : "double") : fmt::format("{}int{}_t", is_signed ? "" : "u", bits);
    argument.operand = at == std::string::npos ? description : description.substr(at + 1);
    auto read = probes::read_mark_argument(module, fmt::format("$arg{}", arguments.size() + 1), description);
    if (!read.ok()) argument.unreadable = read.error().message;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

bool matches(const debuginfo::Mark& mark, const std::vector<std::string>& patterns) {
  const std::string whole = mark.provider + ":" + mark.name;
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return glob_matches(pattern, (pattern.find(':') == std::string::npos ? mark.name : whole));
         });
}

void print_mark(const debuginfo::Mark& mark, debuginfo::Module& module, bool json) {
  const std::vector<Argument> arguments = arguments_of(mark, module);
  const bool has_semaphore = mark.semaphore.value != 0 && mark.semaphore != debuginfo::kNoSuchSemaphore;
  if (json) {
    Json list = Json::array();
    for (const Argument& argument : arguments) {
      Json described = {{"type", argument.type}, {"operand", argument.operand}};
      if (!argument.unreadable.empty()) described["unreadable"] = argument.unreadable;
      list.push_back(std::move(described));
    }
    Json object = {{"provider", mark.provider},
                   {"name", mark.name},
                   {"module", module.path()},
                   {"address", json_address(mark.address)},
                   {"arguments", list}};
    if (has_semaphore) object["semaphore"] = json_address(mark.semaphore);
    print_json(object);
    return;
  }
  std::string line = visible_text(fmt::format("{}:{}", mark.provider, mark.name));
  for (size_t i = 0; i < arguments.size(); ++i) line += fmt::format(" $arg{}:{}", i + 1, arguments[i].type);
  print_to(stdout, "{}\n", line);
  for (const Argument& argument : arguments)
    if (!argument.unreadable.empty()) print_to(stdout, "  {}\n", visible_text(argument.unreadable));
}

// The files that a pattern such as '/usr/bin/*' stands for; empty: the word is not a pattern, or names a file.
std::vector<std::string> files_of_pattern(const std::string& word) {
  struct stat info;
  if (word.find_first_of("*?[") == std::string::npos || ::stat(word.c_str(), &info) == 0) return {};
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(word.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return files;
}

// Prints the marks of each file itself; what is not a program or library is passed over.
Result<int> answer_for_files(const std::vector<std::string>& paths, const std::vector<std::string>& words,
                             const session::Options& options) {
  std::set<std::string> seen;  // files that several names lead to have their marks once
  size_t with_marks = 0;
  for (const std::string& path : paths) {
    std::vector<std::string> asked = words;
    asked[0] = path;
    auto files = open_asked_files("marks", asked, options);
    if (!files.ok() || files->modules.empty() || !seen.insert(files->modules.front()->path()).second) continue;
    std::vector<debuginfo::Mark> marks = files->modules.front()->marks();
    std::erase_if(marks, [&](const debuginfo::Mark& mark) { return !matches(mark, files->words); });
    if (marks.empty()) continue;
    std::ranges::stable_sort(marks, {}, [](const debuginfo::Mark& mark) { return std::pair(mark.provider, mark.name); });
    if (!options.verb.json) print_to(stdout, "{}{}:\n", with_marks ? "\n" : "", visible_text(files->modules.front()->path()));
    for (const debuginfo::Mark& mark : marks) print_mark(mark, *files->modules.front(), options.verb.json);
    ++with_marks;
  }
  if (with_marks) return 0;
  return refuse(paths.size() == 1 ? fmt::format("no SDT mark in {} matches", paths.front())
                                  : fmt::format("no SDT mark in the {} files of '{}' matches", paths.size(), words[0]));
}

}  // namespace

Result<int> answer_marks(const std::vector<std::string>& words, const session::Options& options) {
  const bool has_target = !options.target.command.empty() || !options.target.processes.empty();
  if (!has_target && !words.empty() && options.verb.library.empty()) {
    const std::vector<std::string> paths = files_of_pattern(words[0]);
    if (!paths.empty()) return answer_for_files(paths, words, options);
  }
  TRY(AskedFiles files, open_asked_files("marks", words, options));
  if (options.verb.library.empty()) add_libraries(files);
  std::vector<std::pair<debuginfo::Module*, std::vector<debuginfo::Mark>>> found;
  for (const auto& module : files.modules) {
    std::vector<debuginfo::Mark> marks = module->marks();
    std::erase_if(marks, [&](const debuginfo::Mark& mark) { return !matches(mark, files.words); });
    std::ranges::stable_sort(marks, {}, [](const debuginfo::Mark& mark) { return std::pair(mark.provider, mark.name); });
    if (!marks.empty()) found.emplace_back(module.get(), std::move(marks));
  }
  // Marks of a library alone, such as libstdcxx:throw, must not look like the program's.
  const auto is_program = [&](const std::string& path) { return std::ranges::count(files.world->programs(), path) > 0; };
  const bool names_modules =
      !options.verb.json && (found.size() > 1 || (found.size() == 1 && !is_program(found[0].first->path())));
  for (const auto& [module, marks] : found) {
    if (names_modules) print_to(stdout, "{}{}:\n", module == found.front().first ? "" : "\n", visible_text(module->path()));
    for (const debuginfo::Mark& mark : marks) print_mark(mark, *module, options.verb.json);
  }
  if (!found.empty()) return 0;
  const std::string where = files.world->program() + (files.modules.size() > 1 ? " and its libraries" : "");
  return refuse(files.words.empty() ? "no SDT marks in " + where : fmt::format("no SDT mark in {} matches", where));
}

}  // namespace spile::verbs
