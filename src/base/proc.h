#pragma once
// Reads facts about processes from /proc/PID (proc(5)), for several folders.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spile {

// A line of /proc/PID/maps.
struct Mapping {
  uint64_t begin = 0, end = 0;
  bool readable = false, writable = false, executable = false, shared = false;
  uint64_t offset = 0;
  uint64_t device = 0, inode = 0;
  std::string path;  // "[heap]", "/memfd:spile-code (deleted)", ""

  uint64_t size() const { return end - begin; }
};

// In the order of the file, which is that of addresses. pid 0: this process. Error: the process has ended, or belongs to another user.
Result<std::vector<Mapping>> read_mappings(pid_t pid);
// The text of a maps file.
std::vector<Mapping> parse_mappings(std::string_view text);

// The threads that the process has now; empty for one that has ended.
std::vector<pid_t> threads_of(pid_t pid);

}  // namespace spile
