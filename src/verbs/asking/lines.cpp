// spile lines: source text with the lines that can be probed.

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/diagnostic_colors.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/text/terminal_text.h"
#include "base/visible_text.h"
#include "verbs/asking/asked_places.h"
#include "verbs/asking/asking_verbs.h"
#include "verbs/terms/json_lines.h"
#include "verbs/terms/source_text.h"

namespace spile::verbs {

namespace {

using debuginfo::CodePlace;

// A stretch of one source file, with the code on its lines.
struct Stretch {
  std::shared_ptr<debuginfo::Module> module;
  std::string title, file;
  int first = 0, last = 0;                          // last 0: to the end of the file
  std::map<int, std::vector<CodePlace>> code = {};  // by line
};

Stretch stretch_of(const FunctionSource& source, const AskedPlace& asked) {
  Stretch stretch{.module = source.module, .title = source.function.name(), .file = source.declared.file};
  std::tie(stretch.first, stretch.last) = lines_in(source, asked);
  for (const CodePlace& statement : source.statements) stretch.code[statement.source.line].push_back(statement);
  return stretch;
}

// The files of a module that a pattern matches.
Result<std::vector<Stretch>> stretches_of_file(AskedFiles& files, const AskedPlace& asked) {
  std::vector<Stretch> stretches;
  std::optional<Error> failure;
  for (const auto& module : files.modules) {
    auto places = module->statements(asked.file);
    if (!places.ok()) {
      if (!failure) failure = places.error();
      continue;
    }
    std::map<std::string, Stretch> by_file;
    for (CodePlace& place : *places) {
      Stretch& stretch =
          by_file
              .try_emplace(
                  place.source.file,
                  Stretch{.module = module, .title = "", .file = place.source.file, .first = asked.first, .last = asked.last})
              .first->second;
      stretch.code[place.source.line].push_back(std::move(place));
    }
    for (auto& [name, stretch] : by_file) stretches.push_back(std::move(stretch));
  }
  if (!stretches.empty()) return stretches;
  if (failure) return *failure;
  return Error{fmt::format("no code of source file '{}' in {}", asked.file, files.world->program()),
               "the name is that of the compiler's command, or a pattern, such as '*/file.c'"};
}

// Names of the variables that can be read there, parameters first.
std::vector<std::string> readable_at(const Stretch& stretch, const CodePlace& place) {
  std::vector<std::string> names;
  auto variables = stretch.module->variables(place.function, place.address, place.scope);
  if (!variables.ok()) return names;
  for (const debuginfo::Variable& variable : *variables) {
    const std::string name = "$" + variable.name;
    if (!variable.name.empty() && variable.place.available() && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

// Columns of the terminal; 0: standard output is something else, and lines have any length.
size_t columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// 0: all of it.
std::string cut(const std::string& text, size_t width) { return width == 0 ? text : first_columns(text, width); }

class Printer {
 public:
  Printer(const AskedFiles& files, const session::Options& options)
      : files_(files),
        options_(options),
        colors_(session::wants_color(options.messages.color, STDOUT_FILENO)),
        columns_(columns()) {}

  // with_variables: below each line with code.
  void print(const Stretch& stretch, bool with_variables) {
    auto text = read_source(path_as_seen(files_, stretch.file), options_.verb.source_folder);
    if (!text && missing_.insert(stretch.file).second) {
      warn(fmt::format("the source file {} can't be read; only the lines with code are shown", stretch.file),
           "--source=FOLDER says where sources are");
    }
    const int end = text ? static_cast<int>(text->size()) : stretch.code.empty() ? 0 : stretch.code.rbegin()->first;
    const int first = std::max(stretch.first, 1);
    const int last = stretch.last > 0 ? std::min(stretch.last, end) : end;
    if (first > last) return;  // behind the end of the file
    if (!options_.verb.json)
      print_to(stdout, "{}<{}{}:{}-{}>\n", first_ ? "" : "\n", visible_text(stretch.title.empty() ? "" : stretch.title + "@"),
               visible_text(stretch.file), first, last);
    first_ = false;
    for (int line = first; line <= last; ++line) {
      auto code = stretch.code.find(line);
      const bool has_code = code != stretch.code.end();
      if (!text && !has_code) continue;
      const std::string source = text ? (*text)[static_cast<size_t>(line) - 1] : "";
      if (options_.verb.json) print_object(stretch, line, has_code ? &code->second : nullptr, text ? &source : nullptr);
      else print_line(line, has_code, source);
      if (!options_.verb.json && has_code && with_variables)
        print_to(stdout, "{:>8}   {}\n", "",
                 cut(visible_text(joined(readable_at(stretch, code->second.front()))), columns_ > 11 ? columns_ - 11 : 0));
    }
  }

 private:
  void print_line(int line, bool has_code, const std::string& source) const {
    constexpr size_t kMargin = 11;
    const std::string number = fmt::format("{:>7} {}", line, has_code ? '*' : ' ');
    const std::string shown = cut(source, columns_ > kMargin ? columns_ - kMargin : 0);
    std::string text = colors_ && has_code ? fmt::format("{}{}{}  {}", kCaretColor, number, kNoColor, shown)
                                           : fmt::format("{}  {}", number, shown);
    text.erase(text.find_last_not_of(' ') + 1);
    print_to(stdout, "{}\n", text);
  }

  void print_object(const Stretch& stretch, int line, const std::vector<CodePlace>* code, const std::string* source) const {
    Json object = {{"file", stretch.file}, {"line", line}, {"module", stretch.module->path()}, {"probeable", code != nullptr}};
    if (source) object["source"] = *source;
    if (code) {
      Json addresses = Json::array();
      for (const CodePlace& place : *code) addresses.push_back(json_address(place.address));
      object["addresses"] = addresses;
      object["variables"] = readable_at(stretch, code->front());
    }
    print_json(object);
  }

  const AskedFiles& files_;
  const session::Options& options_;
  const bool colors_;
  const size_t columns_;
  std::set<std::string> missing_;
  bool first_ = true;
};

bool has_code(const Stretch& stretch) {
  auto from = stretch.code.lower_bound(stretch.first);
  return from != stretch.code.end() && (stretch.last == 0 || from->first <= stretch.last);
}

}  // namespace

Result<int> answer_lines(const std::vector<std::string>& words, const session::Options& options) {
  TRY(AskedFiles files, open_asked_files("lines", words, options));
  if (files.words.size() != 1)
    return Error{"lines takes one function, or a part of a source file", "spile lines FILE f, or spile lines FILE file.c:10-40"};
  TRY(const AskedPlace asked, parse_asked_place(files.words.front()));
  std::vector<Stretch> stretches;
  if (asked.function.empty()) {
    TRY(stretches, stretches_of_file(files, asked));
  } else {
    TRY(const std::vector<FunctionSource> sources, functions_at(files, asked, true));
    for (const FunctionSource& source : sources) stretches.push_back(stretch_of(source, asked));
    if (std::ranges::none_of(stretches, has_code)) return no_code(sources.front(), asked);
  }
  // One line is asked about for its variables.
  const bool one_line = asked.has_lines && asked.first == asked.last;
  Printer printer(files, options);
  bool found = false;
  for (const Stretch& stretch : stretches) {
    printer.print(stretch, one_line || options.messages.verbosity() > 0);
    found = found || has_code(stretch);
  }
  if (found) return 0;
  const auto with_code = std::ranges::find_if(stretches, [](const Stretch& stretch) { return !stretch.code.empty(); });
  if (with_code == stretches.end()) return Error{"there is no code on these lines", ""};
  return Error{"there is no code on these lines", fmt::format("the code of {} is on lines {} to {}", with_code->file,
                                                              with_code->code.begin()->first, with_code->code.rbegin()->first)};
}

}  // namespace spile::verbs
