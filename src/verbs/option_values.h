#pragma once
// The values of verbs' options and words. Each function names the option in its error, and shows values that it takes.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace spile::verbs {

// name: as the user wrote it, "--depth".
Result<int> parse_number(const std::string& name, const std::string& text, int least, int most, const std::string& hint);
// "1.5ms": returns ns, from 0 to 10^18.
Result<int64_t> parse_time(const std::string& name, const std::string& text);
// The name or pattern of a function, which stands in a string of the verb's script: no blanks, quotes, backslashes and control characters.
Result<std::string> parse_function(const std::string& word);

}  // namespace spile::verbs
