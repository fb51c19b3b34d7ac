#pragma once
// Reads the options that a user always wants: the words of $SPILE_DIR/rc, or ~/.spile/rc where SPILE_DIR is not set, put before those
// of the command line. Words are separated by blanks and lines; '...' and "..." keep blanks, \ takes the next character as it
// is, # begins a comment.

#include <string>
#include <vector>

#include "base/result.h"

namespace spile::cli {

// Returns the words of the file, or an empty list if the file does not exist.
Result<std::vector<std::string>> read_rc_file();
// Errors: a quote that is not closed.
Result<std::vector<std::string>> split_words(const std::string& text);

}  // namespace spile::cli
