#pragma once
// The words of -c.

#include <string>
#include <vector>

namespace spile::session {

// Returns the arguments by which to execute a command line of -c: split into words when it needs no shell, else {"/bin/sh", "-c", command}.
std::vector<std::string> command_words(const std::string& command);

}  // namespace spile::session
