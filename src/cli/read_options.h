#pragma once
// Reads the options of a command line by the tables of option_table.h, as getopt_long(3) does.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/option_table.h"
#include "verbs/verb.h"

namespace spile::cli {

// Sets in `reading` what the options ask for, and returns the other words. arguments: argv without its closing null, the
// program's name first. of_verbs: options that are read besides those of option_table(), as verbs have them; spile-run has none.
// Errors: an unknown option, a missing value, a value without meaning, an option of stap that is rejected. Thread rule: one
// thread.
Result<std::vector<std::string>> apply_options(const std::vector<std::string>& arguments, Reading& reading,
                                               std::span<const verbs::VerbOption> of_verbs = {});

// "-v", or "--color": as messages name an option. name: may be null if there is a letter.
std::string name_of(char letter, const char* name);

}  // namespace spile::cli
