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

// Returns the probes that keep the array `ours`, which the script declares: the numbers of these processes and of their threads.
// lost: the global that counts the children for which it had no room.
std::string probes_of(const Processes& processes, const std::string& lost);

// The same by threads, for handlers that are hit often: they ask for `tid() in mine`, which takes no lock that others hold. The
// script declares the arrays `mine` and `born`, the latter with the children that have not run yet.
std::string thread_probes_of(const Processes& processes, const std::string& lost);

}  // namespace spile::verbs
