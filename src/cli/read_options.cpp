#include "cli/read_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace spile::cli {

std::string name_of(char letter, const char* name) { return letter ? fmt::format("-{}", letter) : fmt::format("--{}", name); }

namespace {

// Codes of long options, by their place in the tables; beyond every letter.
constexpr int kFirstLong = 1000, kFirstRefused = 2000, kFirstOfVerbs = 3000;

struct GetoptTables {
  std::string letters = ":";
  std::vector<option> names;
};

GetoptTables make_tables(std::span<const verbs::VerbOption> of_verbs) {
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
    add(refused.letter, refused.name,
        !refused.takes_value ? Takes::kNothing
        : refused.letter     ? Takes::kValue
                             : Takes::kMaybe,
        code++);
  }
  code = kFirstOfVerbs;
  for (const verbs::VerbOption& option : of_verbs) add(0, option.name, option.value ? Takes::kValue : Takes::kNothing, code++);
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

// The long options that a word cut short may stand for: " --dump-functions --dump-probe-types".
std::string beginning_with(const std::string& word) {
  std::string matches;
  for (const OptionSpec& spec : option_table()) {
    if (spec.name && word.size() > 2 && fmt::format("--{}", spec.name).starts_with(word))
      matches += fmt::format(" --{}", spec.name);
  }
  return matches;
}

bool is_number(std::string_view word) { return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos; }

Result<void> apply_all(std::vector<char*>& argv, Reading& reading, std::span<const verbs::VerbOption> of_verbs) {
  GetoptTables tables = make_tables(of_verbs);
  optind = 0;  // also forgets an earlier reading
  while (true) {
    int at = optind ? optind : 1;
    int code = getopt_long(static_cast<int>(argv.size()) - 1, argv.data(), tables.letters.c_str(), tables.names.data(), nullptr);
    if (code == -1) return {};
    if (code == ':')
      return Error{fmt::format("option '{}' needs a value", argv[static_cast<size_t>(optind) - 1]), "see spile --help"};
    if (code == '?') {
      std::string word = optopt > 0 && optopt < kFirstLong ? fmt::format("-{}", static_cast<char>(optopt))
                                                           : std::string(argv[static_cast<size_t>(optind) - 1]);
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
    if (code >= kFirstOfVerbs) {
      reading.verb_options.emplace_back(of_verbs[static_cast<size_t>(code - kFirstOfVerbs)].name, optarg ? optarg : "");
      continue;
    }
    const OptionSpec* spec = find(option_table(), code, kFirstLong);
    CHECK(spec);
    if (spec->takes == Takes::kValue && spec->must_say &&
        std::string_view(optarg).find_first_not_of(" \t\n") == std::string_view::npos) {
      return Error{fmt::format("the value of option '{}' is empty", name_of(spec->letter, spec->name)), {}};
    }
    reading.given.push_back(name_of(spec->letter, spec->name));
    TRY_DO(spec->apply(reading, optarg ? optarg : ""));
    // The shell puts all numbers that pidof(1) prints behind one -x.
    while (spec->letter == 'x' && is_number(optarg) && argv[static_cast<size_t>(optind)] &&
           is_number(argv[static_cast<size_t>(optind)])) {
      optarg = argv[static_cast<size_t>(optind++)];
      TRY_DO(spec->apply(reading, optarg));
    }
  }
}

}  // namespace

Result<std::vector<std::string>> apply_options(const std::vector<std::string>& arguments, Reading& reading,
                                               std::span<const verbs::VerbOption> of_verbs) {
  std::vector<std::string> words = arguments;  // getopt_long moves pointers about
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  TRY_DO(apply_all(argv, reading, of_verbs));
  return std::vector<std::string>(argv.begin() + optind, argv.end() - 1);
}

}  // namespace spile::cli
