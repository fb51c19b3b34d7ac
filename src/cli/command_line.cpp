// getopt_long does what stap does: options and script arguments may be mixed, `--` ends the options, long names may be cut
// short.

#include "cli/command_line.h"

#include <fmt/format.h>
#include <getopt.h>
#include <stdlib.h>

#include <cstring>
#include <iostream>

#include "base/print.h"
#include "base/terminal_text.h"
#include "cli/option_table.h"
#include "cli/rc_file.h"
#include "editor/interactive.h"
#include "editor/language_server.h"
#include "verbs/verb.h"

namespace spile::cli {

namespace {

constexpr const char* kVersion = SPILE_VERSION;  // of project() in CMakeLists.txt
// Codes of long options, by their place in the tables; beyond every letter.
constexpr int kFirstLong = 1000, kFirstRefused = 2000;

struct GetoptTables {
  std::string letters = ":";
  std::vector<option> names;
};

GetoptTables make_tables() {
  GetoptTables tables;
  auto add = [&](char letter, const char* name, Takes takes, int code) {
    if (letter != 0) tables.letters += letter;
    if (letter != 0 && takes == Takes::kValue) tables.letters += ':';
    int argument = takes == Takes::kValue ? required_argument : takes == Takes::kMaybe ? optional_argument : no_argument;
    if (name) tables.names.push_back({name, argument, nullptr, code});
  };
  int code = kFirstLong;
  for (const OptionSpec& spec : option_table()) add(spec.letter, spec.name, spec.takes, code++);
  code = kFirstRefused;
  for (const RefusedOption& refused : refused_options()) {
    add(refused.letter, refused.name, !refused.takes_value ? Takes::kNothing : refused.letter ? Takes::kValue : Takes::kMaybe, code++);
  }
  tables.names.push_back({});
  return tables;
}

// The table's entry for what getopt_long returned; by letter, or by code.
template <typename Spec>
const Spec* find(std::span<const Spec> table, int code, int first) {
  for (const Spec& spec : table) {
    if (code == first++ || (spec.letter != 0 && code == spec.letter)) return &spec;
  }
  return nullptr;
}

std::string name_of(char letter, const char* name) { return letter ? fmt::format("-{}", letter) : fmt::format("--{}", name); }

void print_help() {
  print_to(stdout, "Traces running programs and the Linux kernel.\n"
             "Scripts are written in the SystemTap language; see spile(1).\n\n"
             "Usage: spile [OPTIONS] SCRIPT-FILE [ARGUMENTS]     (\"-\": standard input)\n"
             "       spile [OPTIONS] -e 'SCRIPT' [ARGUMENTS]\n"
             "       spile [OPTIONS] -l 'PROBE'\n");
  for (const verbs::Verb& verb : verbs::verbs()) print_to(stdout, "       spile [OPTIONS] {} {}\n", verb.name, verb.words);
  print_to(stdout, "\nVerbs (-p1 prints the script of those that make one):\n");
  for (const verbs::Verb& verb : verbs::verbs()) print_to(stdout, "  {:<27} {}\n", verb.name, verb.help);
  print_to(stdout, "\nOptions:\n");
  for (const OptionSpec& spec : option_table()) {
    std::string names = name_of(spec.letter, spec.name);
    if (spec.letter && spec.name) names += fmt::format(", --{}", spec.name);
    if (spec.takes == Takes::kMaybe) names += fmt::format("[={}]", spec.value);
    if (spec.takes == Takes::kValue) names += fmt::format(" {}", spec.value);
    print_to(stdout, "  {:<27} {}\n", names, spec.help);
  }
}

// The long options that a word cut short may stand for: " --dump-functions --dump-probe-types".
std::string beginning_with(const std::string& word) {
  std::string matches;
  for (const OptionSpec& spec : option_table()) {
    if (spec.name && word.size() > 2 && fmt::format("--{}", spec.name).starts_with(word)) matches += fmt::format(" --{}", spec.name);
  }
  return matches;
}

Result<void> apply_options(std::vector<char*>& argv, Reading& reading) {
  GetoptTables tables = make_tables();
  optind = 0;  // also forgets an earlier reading
  while (true) {
    int at = optind ? optind : 1;
    int code = getopt_long(static_cast<int>(argv.size()) - 1, argv.data(), tables.letters.c_str(), tables.names.data(), nullptr);
    if (code == -1) return {};
    if (code == ':') return Error{fmt::format("option '{}' needs a value", argv[static_cast<size_t>(optind) - 1]), "see spile --help"};
    if (code == '?') {
      std::string word = optopt > 0 && optopt < kFirstLong ? fmt::format("-{}", static_cast<char>(optopt)) : std::string(argv[static_cast<size_t>(optind) - 1]);
      (void)at;
      if (optopt >= kFirstLong) return Error{fmt::format("option '{}' takes no value", word), {}};
      if (std::string matches = beginning_with(word); !matches.empty()) {
        return Error{fmt::format("option '{}' is ambiguous; possibilities:{}", word, matches), {}};
      }
      return Error{fmt::format("unknown option '{}'", word), "see spile --help; put -- before arguments of the script"};
    }
    if (const RefusedOption* refused = find(refused_options(), code, kFirstRefused)) {
      return Error{fmt::format("{} is not supported: {}", name_of(refused->letter, refused->name), refused->why), {}};
    }
    const OptionSpec* spec = find(option_table(), code, kFirstLong);
    CHECK(spec);
    if (spec->takes == Takes::kValue && spec->must_say && std::string_view(optarg).find_first_not_of(" \t\n") == std::string_view::npos) {
      return Error{fmt::format("the value of option '{}' is empty", name_of(spec->letter, spec->name)), {}};
    }
    TRY_DO(spec->apply(reading, optarg ? optarg : ""));
  }
}

// Makes the script that a verb and its words ask for.
Result<void> take_verb(const verbs::Verb& verb, const std::vector<std::string>& words, session::Options& options) {
  TRY(verbs::VerbScript script, verb.make({words.begin() + 1, words.end()}, options));
  options.script.text = std::move(script.text);
  // What the user says comes later, and holds.
  options.script.limits.insert(options.script.limits.begin(), script.limits.begin(), script.limits.end());
  return {};
}

// Rejects options that can't go together, and takes the rest of the line: the script file and its arguments.
Result<void> check_options(Reading& reading, std::vector<std::string> words) {
  session::Options& options = reading.options;
  bool listing = options.listing.what != session::Listing::kNone;
  bool has_text = options.script.text.has_value();
  bool lists_points = options.listing.what == session::Listing::kPoints || options.listing.what == session::Listing::kPointsAndVariables;
  if (listing && (has_text || (!options.script.additional_texts.empty() && !lists_points))) {
    return Error{has_text ? "a script can't be given together with -l, -L or --dump-..." : "-E can't be given together with --dump-...",
                 has_text && lists_points ? "to list a script's own aliases, too, give it with -E" : ""};
  }
  const bool may_lack = reading.interactive || reading.language_server;
  if (!listing && !has_text) {
    if (words.empty() && options.script.additional_texts.empty() && !may_lack) {
      return Error{"a script must be specified", "name a file, or give a script with -e; see spile --help"};
    }
    const verbs::Verb* verb = words.empty() || may_lack ? nullptr : verbs::find_verb(words.front());
    if (words.empty()) {
      options.script.text = "";  // -E alone
    } else if (verb && verb->answer) {
      reading.asks = verb;
    } else if (verb) {
      TRY_DO(take_verb(*verb, words, options));
      words.clear();
    } else {
      options.script.file = words.front();
      if (options.script.file.empty()) return Error{"the name of the script file is empty", {}};
      words.erase(words.begin());
    }
  }
  options.script.arguments = std::move(words);
  if (!options.target.command.empty() && !options.target.processes.empty()) return Error{"-c and -x can't be used together", {}};
  if (options.program.suppress_time_limits && !options.script.guru) return Error{"--suppress-time-limits needs guru mode (-g)", {}};
  if (options.script.privilege != "stapdev" && options.script.guru) {
    return Error{fmt::format("-g needs --privilege=stapdev, but it is {}", options.script.privilege), {}};
  }
  if (options.output.flight_recorder && !options.target.command.empty()) {
    return Error{"-F and -c can't be used together: a flight recorder runs in the background", "start the program, then use -F -x PID"};
  }
  if (options.output.bulk && options.output.in_memory()) return Error{"-b together with -F needs -o", "add -o FILE"};
  if (options.output.bulk && options.output.rotate_bytes > 0) return Error{"-b and -S can't be used together", "-S limits the size of text files of -o"};
  if (options.output.rotate_bytes > 0 && options.output.file.empty()) return Error{"-S needs -o", "-S limits the size of -o's files"};
  return {};
}

Result<int> answer(const verbs::Verb& verb, const session::Options& options) {
  TerminalGuard guard;
  const std::vector<std::string>& words = options.script.arguments;
  return verb.answer({words.begin() + 1, words.end()}, options);
}

Result<int> do_other(Reading& reading, const std::vector<std::string>& words) {
  if (reading.help) {
    print_help();
  } else if (reading.version) {
    print_to(stdout, "spile {} (the language of SystemTap 5.2)\nCopyright the authors of spile. MIT license: there is NO WARRANTY.\n", kVersion);
  } else if (reading.merge) {
    if (words.empty()) return Error{"--merge needs the files that -b wrote", {}};
    return session::merge_streams(words, reading.options.output.file);
  } else if (reading.flight_dump != 0) {
    return session::dump_flight_recorder(reading.flight_dump);
  } else {
    return session::clean_cache();
  }
  return 0;
}

Result<std::optional<int>> read(int argc, char** argv, Reading& reading) {
  TRY(std::vector<std::string> rc_words, read_rc_file());
  std::vector<char*> all;
  all.push_back(argv[0]);
  for (std::string& word : rc_words) all.push_back(word.data());
  all.insert(all.end(), argv + 1, argv + argc);
  all.push_back(nullptr);
  TRY_DO(apply_options(all, reading));
  std::vector<std::string> words(all.begin() + optind, all.end() - 1);
  if (reading.help || reading.version || reading.merge || reading.flight_dump != 0 || reading.clean_cache) {
    TRY(int status, do_other(reading, words));
    return std::optional<int>(status);
  }
  TRY_DO(check_options(reading, std::move(words)));
  if (reading.asks) {
    TRY(int status, answer(*reading.asks, reading.options));
    return std::optional<int>(status);
  }
  if (reading.interactive) return std::optional<int>(editor::run_interactive(reading.options));
  if (reading.language_server) {
    return std::optional<int>(editor::run_language_server(reading.options, std::cin, std::cout));
  }
  return std::optional<int>();
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  Reading reading;
  auto leave = read(argc, argv, reading);
  CommandLine line;
  if (leave.ok()) {
    line.leave = *leave;
  } else {
    print_to(stderr, "spile: {}\n", leave.error().message);
    if (!leave.error().hint.empty()) print_to(stderr, "  hint: {}\n", leave.error().hint);
    line.leave = 1;
  }
  line.options = std::move(reading.options);
  return line;
}

}  // namespace spile::cli
