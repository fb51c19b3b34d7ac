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
  uint64_t begin = 0, end = 0;  // run-time addresses, [begin, end)
  bool readable = false, writable = false, executable = false, shared = false;
  uint64_t offset = 0;             // of `begin` in the file, in bytes
  uint64_t device = 0, inode = 0;  // of the file, as stat(2) gives them; 0: no file
  std::string path;                // "[heap]", "/memfd:spile-code (deleted)", ""

  uint64_t size() const { return end - begin; }
};

// Returns the mappings in the order of the file, which is that of addresses. pid 0: this process. Error: the process has ended,
// or belongs to another user.
Result<std::vector<Mapping>> read_mappings(pid_t pid);
// Parses the text of a maps file. Never fails: fields that are not there are 0, false or "".
std::vector<Mapping> parse_mappings(std::string_view text);

// Returns the IDs of the processes, other than this one, whose program has that name, ascending: the file's last component, or
// the kernel's name of the process (15 bytes of it), as pidof(1) has it. Empty: there is none that this user may look at.
std::vector<pid_t> processes_named(const std::string& name);

// Returns the IDs of the threads that the process has now, in no order; empty for one that has ended. REQUIRES: pid is not 0.
std::vector<pid_t> threads_of(pid_t pid);

}  // namespace spile
