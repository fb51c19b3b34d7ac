#include "base/processes/spawn.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/print.h"

namespace spile {

namespace {

int start(std::vector<std::string> words, const posix_spawn_file_actions_t* actions, const sigset_t& defaults, bool apart,
          pid_t* pid) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int group = apart ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  pid_t made = 0;
  const int failure = posix_spawnp(&made, arguments[0], actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure == 0) *pid = made;
  return failure;
}

}  // namespace

int spawn(std::vector<std::string> words, pid_t* pid) {
  return start(std::move(words), nullptr, signals_by_default(), false, pid);
}

int spawn_apart(std::vector<std::string> words, const posix_spawn_file_actions_t& actions, pid_t* pid) {
  sigset_t all;
  sigfillset(&all);
  return start(std::move(words), &actions, all, true, pid);
}

}  // namespace spile
