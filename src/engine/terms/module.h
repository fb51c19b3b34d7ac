#pragma once
// What processes have mapped, and what the engine asks its user about it. The engine calls the functions below on its thread,
// from within functions of the Engine; they may call modules() and processes() alone.

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
    Address begin, end;    // run-time addresses; end: behind the last byte
    uint64_t file_offset;  // of begin, in bytes
  };
  std::vector<Range> text;  // executable mappings, by address
  Address lowest, highest;  // begin of the first and end of the last of all its mappings
  bool main_executable = false;
  bool go = false;        // built by Go's compiler, whose runtime walks and moves stacks: no return address may be replaced
  Address goroutines;     // go: its runtime.allgs; 0: unknown
  int32_t goroutine = 0;  // go: where a thread keeps its goroutine, in bytes from its thread pointer; 0: not known yet
  bool is_vdso() const { return inode == 0; }
};

// Returns sites to arm in the module, in this process and later ones, beside the sites given to arm(); those that are the
// same (site_id, address) are armed once. Asked once about each module (device and inode) that the engine finds when it arms a
// process: at attach or arm(), while the process may run; after an exec or when the dynamic linker has loaded it, while the
// thread that loads it stands still and before code of the module has run. Not asked after disarm().
using ModuleResolver = std::function<std::vector<SiteRequest>(pid_t pid, const Module& module)>;

// Returns the value for abi::ProcessTable::module_map of the process; 0: none. modules: all but the vdso. Asked each time the
// process is armed, also if they have not changed, before code of a late library has run.
using ModuleDescriber = std::function<uint64_t(pid_t pid, std::span<const Module> modules)>;

// Returns why the returns of no function may be probed in a process that has the module; empty: they may, as far as this module
// is concerned. Asked about the modules of processes for which there are return probes, until one is in the way.
using StackOwnership = std::function<std::string(pid_t pid, const Module& module)>;

// Where a module's code calls functions that look at return addresses. Return probes replace return addresses, so they leave
// functions alone whose return address such a function would find. Each element is a file address by which the code comes to such
// a function: an entry of the procedure linkage table, a word of the global offset table, or a function of the module itself.
struct ReturnReaders {
  // functions that look at their own return address (dlsym); one that ends with a jump there shares it
  std::set<uint64_t> own;
  std::set<uint64_t> callers;  // functions that look at the return address of their caller (mcount)
};

// Finds them. Asked about each module whose functions have return probes.
using ReturnReaderFinder = std::function<ReturnReaders(pid_t pid, const Module& module)>;

}  // namespace spile::engine
