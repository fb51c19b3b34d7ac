#pragma once
// Reads the options of a command line by the tables of option_table.h, as getopt_long(3) does.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/option_table.h"
#include "verbs/verb.h"

namespace spile::cli {

// Sets in `reading` what the options ask for, and returns the other words. arguments: argv without its closing null, the program's name first. Errors: an
// unknown option, a missing value, a value without meaning, an option of stap that is rejected. Thread rule: one thread.
Result<std::vector<std::string>> apply_options(const std::vector<std::string>& arguments, Reading& reading);

// Returns the options that verbs have beside those of option_table(), each name once.
std::vector<verbs::VerbOption> verb_options();

// "-v", or "--color": as messages name an option. name: may be null if there is a letter.
std::string name_of(char letter, const char* name);

}  // namespace spile::cli
