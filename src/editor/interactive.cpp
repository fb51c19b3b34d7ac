#include "editor/interactive.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files/file.h"
#include "base/messages.h"
#include "base/print.h"
#include "editor/analysis.h"
#include "editor/completion.h"
#include "editor/line_reader.h"
#include "session/scripts/library.h"
#include "session/scripts/scripts.h"
#include "syntax/lexer.h"
#include "syntax/parser.h"

namespace spile::editor {

namespace {

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) return Error::from_errno("write " + path, errno);
  return {};
}

void print_error(const Error& error) {
  Message message(MessageKind::kNote, error.message);
  message.hint = error.hint;
  say(std::move(message));
}

// A child that works while this process waits; Ctrl-C is for the child alone.
template <typename Work>
int in_child(Work work) {
  fflush(nullptr);
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  pid_t child = fork();
  if (child == 0) {
    sigaction(SIGINT, &before, nullptr);
    int status = work();
    fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  if (child < 0) {
    print_error(Error::from_errno("fork", errno));
  } else {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  sigaction(SIGINT, &before, nullptr);
  return status;
}

struct Command;

class Interactive {
 public:
  explicit Interactive(const session::Options& options) : options_(options), language_(Catalogue::of_language()) {}

  int run();

  // ---- commands
  void help(const std::string&);
  void add(const std::string& text) { enter(text); }
  void list(const std::string&);
  void run_script(const std::string& words);
  void edit(const std::string&);
  void remove(const std::string& lines);
  void save(const std::string& path);
  void load(const std::string& path);
  void sample(const std::string& name);
  void set(const std::string& words);
  void show(const std::string&);
  void quit(const std::string&) { left_ = true; }

 private:
  bool begin_with_given();
  bool do_command(const std::string& line);
  void enter(const std::string& text);
  void evaluate(const std::string& statement);
  LineReader::Completions complete_line(const std::string& line, size_t place);
  const Catalogue& library();
  std::string script() const;
  void replace(const std::string& text);

  session::Options options_;
  Catalogue language_;
  SourceFiles library_files_;
  std::optional<Catalogue> library_;
  std::vector<std::string> lines_;
  std::string pending_;  // lines of a declaration that is not complete yet
  bool is_saved_ = true, left_ = false;
};

struct Command {
  std::string_view name, arguments, help;
  void (Interactive::*act)(const std::string& words);
};

constexpr std::array<Command, 12> kCommands = {{
    {"add", "LINE", "add a line to the script; a line that is not a command is added, too", &Interactive::add},
    {"delete", "[LINE[-LINE]]", "delete lines of the script; all, without numbers", &Interactive::remove},
    {"edit", "", "edit the script with $EDITOR", &Interactive::edit},
    {"help", "", "show this list", &Interactive::help},
    {"list", "", "show the script with its line numbers", &Interactive::list},
    {"load", "FILE", "replace the script with that of a file", &Interactive::load},
    {"quit", "", "exit (Ctrl-D does, too)", &Interactive::quit},
    {"run", "[ARGUMENT ...]", "run the script; Ctrl-C ends the run", &Interactive::run_script},
    {"sample", "[NAME]", "list the examples that come with spile; load one", &Interactive::sample},
    {"save", "FILE", "write the script to a file", &Interactive::save},
    {"set", "OPTION VALUE", "set an option of runs: c x T guru verbose", &Interactive::set},
    {"show", "", "show the options of runs", &Interactive::show},
}};

std::string Interactive::script() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

void Interactive::replace(const std::string& text) {
  lines_.clear();
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool Interactive::begin_with_given() {
  if (options_.script.text) replace(*options_.script.text);
  if (!options_.script.file.empty()) {
    auto text = read_file(options_.script.file);
    if (!text.ok()) {
      print_error(text.error());
      return false;
    }
    replace(*text);
  }
  options_.script.file.clear();
  return true;
}

int Interactive::run() {
  if (!begin_with_given()) return 1;
  const char* home = getenv("HOME");
  const char* folder = getenv("SPILE_DIR");
  std::string history = folder ? std::string(folder) : home ? std::string(home) + "/.spile" : std::string();
  if (!history.empty()) {
    mkdir(history.c_str(), 0700);  // it may exist already; without it, the history is not kept
    history += "/history";
  }
  LineReader reader([this](const std::string& line, size_t place) { return complete_line(line, place); }, history);
  if (reader.is_terminal()) print_to(stdout, "spile: type a script's lines, `run`, or `help`.\n");
  while (!left_) {
    std::optional<std::string> line = reader.read(pending_.empty() ? "spile> " : "     > ");
    if (!line) break;
    if (!pending_.empty() && trimmed(*line).empty()) {
      // An empty line cancels an unfinished declaration, so that there is always a way out.
      print_to(stderr, "incomplete, dropped:\n{}", pending_);
      pending_.clear();
    } else if (!pending_.empty() || !do_command(*line)) {
      enter(*line);
    }
    fflush(stdout);
  }
  if (!pending_.empty()) print_to(stderr, "incomplete, dropped:\n{}", pending_);
  return 0;
}

// A statement may begin like a command: `delete a[1]` deletes an element, `delete 3` a line.
bool Interactive::do_command(const std::string& line) {
  std::string text = trimmed(line);
  if (text.empty()) return true;
  size_t end = text.find_first_of(" \t");
  std::string name = text.substr(0, end);
  std::string words = end == std::string::npos ? std::string() : trimmed(text.substr(end));
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    bool is_statement = !words.empty() && (std::string_view("=([.+-<").find(words[0]) != std::string_view::npos);
    if (name == "delete" && !words.empty()) is_statement = !isdigit(static_cast<unsigned char>(words[0]));
    if (is_statement) return false;
    (this->*command.act)(words);
    return true;
  }
  return false;
}

void Interactive::enter(const std::string& text) {
  pending_ += text + "\n";
  if (is_incomplete(pending_)) return;
  std::string whole = std::exchange(pending_, {});
  SourceFile file("<line>", whole);
  syntax::Token first = syntax::Lexer(file).next();
  bool declares = first.is_keyword("probe") || first.is_keyword("global") || first.is_keyword("private") ||
                  first.is_keyword("function") || first.kind == syntax::TokenKind::kEmbedded ||
                  first.kind == syntax::TokenKind::kEnd || first.text == "@define" || first.is(syntax::op("%("));
  if (!declares) return evaluate(whole);
  Diagnostics diagnostics;
  syntax::ParseOptions settings = session::parse_settings(options_.script, options_.target);
  settings.must_declare = false;
  // Macros and names may come from other lines: a line is right or wrong as a part of the whole script.
  SourceFile all("<script>", script() + whole);
  SourceFiles files;
  auto library = session::Library::open(options_.script, options_.target.runtime, settings, files);
  if (library.ok()) {
    library->load_macros(all.text(), diagnostics);
    settings.macros = &library->macros();
  }
  syntax::parse(all, settings, diagnostics);
  // The arguments are given to `run`.
  bool only_lacks_arguments = std::all_of(diagnostics.all().begin(), diagnostics.all().end(), [](const Diagnostic& d) {
    return d.severity == Severity::kWarning || d.message.starts_with("script argument");
  });
  if (diagnostics.has_errors() && !only_lacks_arguments) {
    print_to(stderr, "{}", diagnostics.render());
    print_to(stderr, "The line was not added.\n");
    return;
  }
  while (whole.ends_with('\n')) whole.pop_back();
  std::vector<std::string> before = std::move(lines_);
  replace(whole);
  lines_.insert(lines_.begin(), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
  is_saved_ = false;
}

// Runs a statement once: a script with the declarations but not the probes, and a begin probe with the statement. Values of
// globals are lost after it.
void Interactive::evaluate(const std::string& statement) {
  Diagnostics ignored;
  SourceFile file("<script>", script());
  syntax::Script own = syntax::parse(file, session::parse_settings(options_.script, options_.target), ignored);
  own.probes.clear();
  session::Options once = options_;
  once.script.text = "probe begin { " + trimmed(statement) + "\n; exit() }";
  once.script.additional_texts.push_back(to_source(own));
  in_child([&] { return session::run(once); });
}

// ---------------------------------------------------------------- commands

void Interactive::help(const std::string&) {
  for (const Command& command : kCommands) {
    print_to(stdout, "  {:<24} {}\n", fmt::format("{} {}", command.name, command.arguments), command.help);
  }
  print_to(stdout,
           "Declarations (probe, global, function ...) are added to the script. Anything else is a statement, which is\n"
           "run at once. Lines are read until their brackets are closed; an empty line drops them.\n");
}

void Interactive::list(const std::string&) {
  for (size_t i = 0; i < lines_.size(); ++i) print_to(stdout, "{:>4}  {}\n", i + 1, lines_[i]);
}

void Interactive::run_script(const std::string& words) {
  session::Options options = options_;
  options.script.text = script();
  for (size_t begin = 0; begin < words.size();) {
    size_t end = std::min(words.find_first_of(" \t", begin), words.size());
    if (end > begin) options.script.arguments.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  in_child([&] { return session::run(options); });
}

void Interactive::edit(const std::string&) {
  std::string path = "/tmp/spile-edit-XXXXXX";
  int fd = mkstemp(path.data());
  if (fd < 0) return print_error(Error::from_errno("create " + path, errno));
  close(fd);
  auto written = write_file(path, script());
  if (!written.ok()) return print_error(written.error());
  const char* editor = getenv("EDITOR");
  std::string command = std::string(editor && *editor ? editor : "vi") + " '" + path + "'";
  int status = in_child([&] { return execl("/bin/sh", "sh", "-c", command.c_str(), nullptr); });
  auto text = read_file(path);
  unlink(path.c_str());
  if (status != 0) return print_to(stderr, "the editor failed; the script is as it was: {}\n", command);
  if (!text.ok()) return print_error(text.error());
  is_saved_ = is_saved_ && *text == script();
  replace(*text);
}

void Interactive::remove(const std::string& words) {
  size_t first = 1, last = lines_.size();
  if (!words.empty()) {
    size_t dash = words.find('-');
    bool ok = read_number(words.substr(0, dash), first);
    last = first;
    if (dash != std::string::npos) ok = ok && read_number(words.substr(dash + 1), last);
    if (!ok || first < 1 || first > last || last > lines_.size()) {
      print_to(stderr, "no such lines: '{}'; the script has {} lines\n", words, lines_.size());
      return;
    }
  }
  lines_.erase(lines_.begin() + static_cast<long>(first - 1), lines_.begin() + static_cast<long>(last));
  is_saved_ = lines_.empty();
}

void Interactive::save(const std::string& path) {
  if (path.empty()) return print_to(stderr, "save needs a file name\n");
  auto written = write_file(path, script());
  if (!written.ok()) return print_error(written.error());
  is_saved_ = true;
}

// The examples are installed beside the tapset, or are beside it in the sources.
std::filesystem::path examples_folder() {
  std::filesystem::path above = std::filesystem::path(session::tapset_folder()).parent_path();
  std::error_code error;
  std::filesystem::path installed = above.parent_path() / "doc/spile/examples";
  return std::filesystem::is_directory(installed, error) ? installed : above / "examples";
}

void Interactive::sample(const std::string& name) {
  std::set<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(examples_folder(), error)) {
    if (entry.path().extension() != ".stp") continue;
    if (entry.path().filename() == name || entry.path().stem() == name) return load(entry.path());
    found.insert(entry.path());
  }
  if (!name.empty()) return print_to(stderr, "no example '{}'; sample without a name lists the examples\n", name);
  if (found.empty()) return print_to(stderr, "no examples are installed\n");
  for (const std::filesystem::path& path : found) {
    std::string what;
    std::ifstream file(path);
    while (std::getline(file, what) && (what.starts_with("#!") || what.empty())) continue;
    size_t text = what.find_first_not_of("/# *");
    print_to(stdout, "  {:<22} {}\n", path.stem().string(), text == std::string::npos ? "" : what.substr(text));
  }
}

void Interactive::load(const std::string& path) {
  if (path.empty()) return print_to(stderr, "load needs a file name\n");
  auto text = read_file(path);
  if (!text.ok()) return print_error(text.error());
  if (!is_saved_) print_to(stderr, "the script was not saved, and has been replaced\n");
  replace(*text);
  is_saved_ = true;
}

void Interactive::set(const std::string& words) {
  size_t end = std::min(words.find_first_of(" \t="), words.size());
  std::string name = words.substr(0, end);
  std::string value = end < words.size() ? trimmed(words.substr(end + 1)) : std::string();
  int64_t number = 0;
  bool is_number = read_number(value, number) && number >= 0;
  if (name == "c") {
    options_.target.command = value;
    options_.target.processes.clear();
  } else if (name == "x" && is_number) {
    options_.target.processes = {static_cast<pid_t>(number)};
    options_.target.command.clear();
  } else if (name == "T" && is_number) {
    options_.target.time_limit_ns = number * 1'000'000'000;
  } else if (name == "guru" && is_number) {
    options_.script.guru = number != 0;
  } else if (name == "verbose" && is_number) {
    options_.messages.pass_verbosity.fill(static_cast<int>(number));
  } else {
    print_to(stderr, "set: c COMMAND, x PID, T SECONDS, guru 0|1 or verbose N\n");
  }
}

void Interactive::show(const std::string&) {
  print_to(stdout, "c {}\nx {}\nT {}\nguru {}\nverbose {}\n", options_.target.command, options_.target.first_process(),
           options_.target.time_limit_ns / 1'000'000'000, options_.script.guru ? 1 : 0, options_.messages.verbosity());
}

// ---------------------------------------------------------------- completion

const Catalogue& Interactive::library() {
  if (!library_) library_ = library_catalogue(options_, library_files_);
  return *library_;
}

LineReader::Completions Interactive::complete_line(const std::string& line, size_t place) {
  std::string before = line.substr(0, place);
  std::string word = trimmed(before);
  LineReader::Completions completions;
  bool at_start = pending_.empty() && word.find_first_of(" \t(.") == std::string::npos;
  if (at_start) {
    completions.begin = before.size() - std::min(before.size(), word.size());
    for (const Command& command : kCommands) {
      if (command.name.starts_with(word)) completions.words.emplace_back(command.name);
    }
  }
  Diagnostics ignored;
  SourceFile file("<script>", script());
  Catalogue own;
  own.add(syntax::parse(file, session::parse_settings(options_.script, options_.target), ignored));
  // A line without a declaration is a statement.
  SourceFile typed("<line>", pending_ + before);
  syntax::Token first = syntax::Lexer(typed).next();
  bool is_statement = pending_.empty() && first.kind != syntax::TokenKind::kKeyword;
  for (bool as_statement : {false, true}) {
    if (as_statement ? !is_statement : is_statement && !at_start) continue;
    std::string text = (as_statement ? "probe begin { " : pending_) + before;
    Context context = context_at(text, text.size());
    completions.begin = before.size() - std::min(before.size(), text.size() - context.begin);
    for (Candidate& candidate : complete(text, text.size(), {&own, &library(), &language_}, world_queries(options_))) {
      completions.words.push_back(std::move(candidate.text));
    }
  }
  return completions;
}

}  // namespace

int run_interactive(const session::Options& options) { return Interactive(options).run(); }

}  // namespace spile::editor
