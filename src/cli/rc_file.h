#pragma once
// Reads the options that a user always wants, put before those of the command line: the words of $SPILE_DIR/rc, or where
// SPILE_DIR is not set, of the first of these files that can be read: ~/.spile/rc and SystemTap's, $SYSTEMTAP_DIR/rc or
// ~/.systemtap/rc. Words are separated by blanks and line ends. '...' and "..." keep blanks. \ keeps the next character as it is,
// but not in '...', and joins a line with the next one. # at a word's beginning begins a comment.

#include <string>
#include <vector>

#include "base/result.h"

namespace spile::cli {

struct RcFile {
  std::string path;  // "": none
  std::vector<std::string> words;
};
// Returns the file, or no words if no such file can be read. Errors: as split_words().
Result<RcFile> read_rc_file();
// Splits a text into words by these rules. Errors: a quote that is not closed.
Result<std::vector<std::string>> split_words(const std::string& text);

}  // namespace spile::cli
