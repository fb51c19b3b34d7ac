#pragma once
// The processes of -x and -c, and their children, for scripts on events in the kernel, which happen in all processes.

#include <sys/types.h>

#include <string>
#include <vector>

#include "session/terms/options.h"

namespace spile::verbs {

struct Processes {
  bool only_these = false;          // -c or -x was given
  std::vector<pid_t> running = {};  // of -x: the threads of these processes and of their children; the command's is target()
};
Processes processes_of(const session::TargetOptions& target);

// Returns a statement for each of these threads, indented by two, that makes it an element of `array`.
std::string statements_for(const Processes& processes, const std::string& array);

}  // namespace spile::verbs
