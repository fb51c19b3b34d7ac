#pragma once
// Writes files that somebody may read at the same time.

#include <string>
#include <string_view>

#include "base/result.h"

namespace spile {

// Makes `bytes` the contents of the file: written beside it and renamed, so that a full disk leaves no half of it, and the one
// that was there stays until then. Of a symbolic link, the file that it leads to is replaced. What is not a regular file (a pipe,
// /dev/stdout) is written to as it is. Error: it can't be written.
Result<void> replace_file(const std::string& path, std::string_view bytes);

}  // namespace spile
