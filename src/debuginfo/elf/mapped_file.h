#pragma once
// Finds the file that a process has mapped under a path, which may not be the one that the path leads to: it has been deleted or
// replaced since, or the process has another root or mount namespace. The file that runs is opened.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

struct MappedFile {
  pid_t pid = 0;
  std::string path;                // as /proc/PID/maps shows it, without " (deleted)"
  bool is_program = false;         // what the process executes
  uint64_t device = 0, inode = 0;  // as in the maps; stat(2) may show others (overlayfs, btrfs)
  uint64_t begin = 0, end = 0;     // run-time addresses of its first executable mapping
  uint64_t start = 0;              // run-time address of its first byte; 0: not mapped
};

// Returns the files that the process has mapped executable, each once, in the order of their addresses. Empty: its maps can't be
// read.
std::vector<MappedFile> mapped_files(pid_t pid);

// Returns options with which Module::open(file.path, options) opens that very file while the process lives. Error: no path that
// we may open leads to it any more.
Result<OpenOptions> options_for(const MappedFile& file);

}  // namespace spile::debuginfo
