#pragma once
// Lists every option that spile knows: its letter and name as stap(1) has them, what it takes, what it does, and its line of
// --help. Options of stap that can have no meaning here are in a table of their own, each with the reason why it is rejected.
//
// To add an option: a line in kOptions (option_table.cpp), a test in command_line_test.cpp, a paragraph in docs/man/spile.1.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::verbs {
struct Verb;
}

namespace spile::cli {

// The options as read so far, and what the command line asks for other than the run of a script.
struct Reading {
  session::Options options;
  bool help = false, version = false, merge = false, clean_cache = false;
  pid_t flight_dump = 0;  // of --flight-dump; 0: not given
  bool interactive = false, language_server = false;
  std::vector<std::string> remotes;    // of --remote; empty: the script runs here
  std::vector<std::string> processes;  // of -x, as given: --remote looks for names where the script runs
  // a name or number of -x that no process here has; an error unless the script runs elsewhere
  std::optional<Error> no_process;
  const verbs::Verb* asks = nullptr;     // the verb that answers; its words are options.script.arguments
  bool shows_script = false;             // --script
  const verbs::Verb* page_of = nullptr;  // the verb of whose run -o x.html is the page
  std::vector<std::string> given;        // the options of the line, as name_of() names them; not those of the rc file
  std::vector<std::pair<std::string, std::string>> verb_options = {};  // by name, in their order
};

enum class Takes : uint8_t { kNothing, kValue, kMaybe };  // kMaybe: a value may be given, as --name=VALUE

struct OptionSpec {
  char letter;       // 0: none
  const char* name;  // null: none
  Takes takes;
  const char* value;  // its name in --help
  const char* help;   // docs/man/spile.1 has every option, too; tests/e2e/manual.py compares the two
  // Sets what the option asks for. value: "" if none was given. Errors: the value has no meaning for the option.
  Result<void> (*apply)(Reading& reading, const std::string& value);
  bool must_say = false;  // kValue: an empty or blank value is an error
};
std::span<const OptionSpec> option_table();

// An option of stap that is an error here.
struct RefusedOption {
  char letter;       // 0: none
  const char* name;  // null: none
  bool takes_value;
  const char* why;  // the error is "OPTION is not supported: WHY"
};
std::span<const RefusedOption> refused_options();

}  // namespace spile::cli
