#pragma once
// Every option that spile knows: its letter and name as stap(1) has them, what it takes, what it does, and its line of
// --help. Options of stap that can have no meaning here are in a table of their own, each with the reason why it is rejected.
//
// To add an option: a line in kOptions (option_table.cpp), a test in command_line_test.cpp, a paragraph in docs/man/spile.1.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/options.h"

namespace spile::cli {

// The options, and what else the command line asks for.
struct Reading {
  session::Options options;
  bool help = false, version = false, merge = false, clean_cache = false;
  pid_t flight_dump = 0;
  bool interactive = false, language_server = false;
};

enum class Takes : uint8_t { kNothing, kValue, kMaybe };  // kMaybe: only as --name=VALUE

struct OptionSpec {
  char letter;       // 0: none
  const char* name;  // null: none
  Takes takes;
  const char* value;  // its name in --help
  const char* help;   // docs/man/spile.1 has every option, too; tests/e2e/manual.py compares the two
  Result<void> (*apply)(Reading& reading, const std::string& value);
  bool must_say = false;  // an empty value is an error
};
std::span<const OptionSpec> option_table();

struct RefusedOption {
  char letter;
  const char* name;
  bool takes_value;
  const char* why;
};
std::span<const RefusedOption> refused_options();

}  // namespace spile::cli
