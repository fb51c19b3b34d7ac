#pragma once
// The values of verbs' options and words. Each function names the option in its error, and shows values that it takes.

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace spile::verbs {

// name: as the user wrote it, "--depth".
Result<int> parse_number(const std::string& name, const std::string& text, int least, int most, const std::string& hint);
// "1.5ms": returns ns, from 0 to 10^18.
Result<int64_t> parse_time(const std::string& name, const std::string& text);
// The name or pattern of a function, of any characters. "libc.so.6:malloc": of a library of the program.
Result<std::string> parse_function(const std::string& word);
// Checks that a text is one expression of the script language, before it stands in a verb's script, of which the user would see
// errors. Macros are left to that.
Result<void> check_expression(const std::string& name, const std::string& text);
// Returns the two parts of a word that parse_function() has accepted: "libc.so.6" and "malloc". The first is empty: of the
// program itself.
std::pair<std::string, std::string> library_and_function(const std::string& word);
// Returns the probe point of such a word: process.function("f"), or process.library("libc.so.6").function("malloc").
std::string function_point(const std::string& word);

}  // namespace spile::verbs
