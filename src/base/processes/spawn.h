#pragma once
// Starts programs, with none of the caller's signal masks and handlers. Thread rule: any thread.

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace spile {

// Start words.front(), which is looked up in PATH, with the words as its arguments; *pid is the child. Return 0, or an errno;
// *pid is then unchanged. REQUIRES: words is not empty.
//
// As the caller's own caller would have started it: in the caller's process group, so that Ctrl-C at a terminal is for both, with
// the signals that the caller was started with (signals_by_default() in base/print.h), and its descriptors.
int spawn(std::vector<std::string> words, pid_t* pid);
// As a process group of its own: Ctrl-C at a terminal is for the caller. actions: what the child does with its descriptors.
int spawn_apart(std::vector<std::string> words, const posix_spawn_file_actions_t& actions, pid_t* pid);

}  // namespace spile
