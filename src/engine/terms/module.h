#pragma once
// What processes have mapped, and what the engine asks its user about it.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

// What a process has mapped from one ELF file.
struct Module {
  std::string path;   // as in /proc/PID/maps when it was first met, without " (deleted)"
  uint64_t bias = 0;  // run-time address = file address + bias
  uint64_t inode = 0;
  uint64_t device = 0;
  struct Range {
    Address begin, end;
    uint64_t file_offset;
  };
  std::vector<Range> text;  // executable mappings, by address
  Address lowest, highest;  // of all its mappings
  bool main_executable = false;
  bool go = false;  // built by Go's compiler, whose runtime walks and moves stacks: no return address may be replaced
  Address goroutines;     // go: its runtime.allgs; 0: unknown
  int32_t goroutine = 0;  // go: where a thread keeps its goroutine, in bytes from its thread pointer; 0: not known yet
  bool is_vdso() const { return inode == 0; }
};

// Asked for each module that appears in a traced process after attach or launch (exec, initial libraries, dlopen),
// while the process stands still before any code of the module has run. Returns sites to arm there (and in later
// processes), beside those already given to arm(). A module (device and inode) is asked about once.
using ModuleResolver = std::function<std::vector<SiteRequest>(pid_t pid, const Module& module)>;

// Asked when what a process has mapped is known or has changed, before any new code of it has run. The answer becomes its
// ProcessTable::module_map.
using ModuleDescriber = std::function<uint64_t(pid_t pid, std::span<const Module> modules)>;

// Why the returns of no function may be probed in a process that has the module; empty: they may, as far as this module is
// concerned. Asked about each module of processes for which there are return probes.
using StackOwnership = std::function<std::string(pid_t pid, const Module& module)>;

// Functions that look at return addresses, as far as a module calls them. Return probes replace return addresses, and leave functions alone
// whose return address such a function would find. Given are the addresses by which the module's code comes to them: entries of the
// procedure linkage table, words of the global offset table, functions of its own.
struct ReturnReaders {
  std::set<uint64_t> own;      // dlsym and the like look at their own: a function that ends with a jump there shares it
  std::set<uint64_t> callers;  // mcount looks at that of the function which calls it
};

// In addresses of the file. Asked about each module whose functions have return probes.
using ReturnReaderFinder = std::function<ReturnReaders(pid_t pid, const Module& module)>;

}  // namespace spile::engine
