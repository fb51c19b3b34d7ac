#pragma once
// Starts a program as a process group of its own, with none of the caller's signal masks and handlers: Ctrl-C at a terminal is
// for the caller. Thread rule: any thread.

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace spile {

// Starts words.front(), which is looked up in PATH, with the words as its arguments; *pid is the child. Returns 0, or an errno;
// *pid is then unchanged. actions: what the child does with its descriptors. REQUIRES: words is not empty.
int spawn_apart(std::vector<std::string> words, const posix_spawn_file_actions_t& actions, pid_t* pid);

}  // namespace spile
