#pragma once
// The words of -c.

#include <string>
#include <vector>

namespace spile::session {

// Returns the arguments by which to execute a command line of -c: split into words when it needs no shell, else {"/bin/sh", "-c",
// command}. A command of one program ("redis-server > log") replaces its shell: {"/bin/sh", "-c", "exec redis-server > log"}.
std::vector<std::string> command_words(const std::string& command);
// Returns the program that runs for a command line of -c, as it is named there: "redis-server" for the above, "/bin/sh" where a
// shell stays.
std::string command_program(const std::string& command);

}  // namespace spile::session
