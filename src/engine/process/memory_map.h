#pragma once
// A process's mappings (/proc/PID/maps), the ELF modules among them, and free room between them. All addresses are run-time
// addresses, sizes are in bytes.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/processes/proc.h"
#include "base/result.h"
#include "engine/terms/module.h"

namespace spile::engine {

class TargetMemory;

// The mappings at one moment: what a running process maps or unmaps afterwards does not show. Any thread.
class MemoryMap {
 public:
  // Reads the mappings: none if the process is a zombie. Fails as read_mappings (base/processes/proc.h) does.
  static Result<MemoryMap> read(pid_t pid);
  // mappings: in any order. heap: where the heap begins, or is going to begin; 0: unknown. stack: how far the stack may grow; it
  // is given 256 MiB at least, and 16 GiB at most.
  explicit MemoryMap(std::vector<Mapping> mappings, uint64_t heap = 0, uint64_t stack = 0);

  const std::vector<Mapping>& all() const { return all_; }  // by address
  // The mapping that has the address, or nullptr. Pointers are good as long as this object.
  const Mapping* find(uint64_t address) const;
  // The first mapping of that path, or nullptr.
  const Mapping* find_named(std::string_view path) const;

  // Finds room for `size` bytes (a multiple of the page's size) all of which are within `reach` of every byte of [low, high):
  // below it if possible, since heaps grow upwards; above the heap only as far from it as possible. Keeps away from the stack.
  // Returns the address of a page; empty: no such room. high should be a module's end, where a heap of unknown place may begin.
  std::optional<uint64_t> find_room(uint64_t low, uint64_t high, uint64_t size, uint64_t reach) const;
  // Finds the highest hole that has room for `size` bytes and leaves `apart` bytes between them and what is mapped above, which
  // may grow downwards. Returns the address of a page; empty: no such hole.
  std::optional<uint64_t> find_hole(uint64_t size, uint64_t apart) const;
  // Whether the page at this address is not mapped, may be mapped, and is out of the way of what may grow: heap_room bytes behind
  // a heap, as far below the stack as its limit lets it grow, 64 KiB around other mappings.
  bool is_free_page(uint64_t page, uint64_t heap_room) const;

 private:
  // Where nothing of ours may be: a mapping, and where it may grow to.
  struct OccupiedRange {
    uint64_t begin, end;
    bool grows;  // upwards, further than `end`: a heap
  };
  std::vector<OccupiedRange> occupied_ranges(uint64_t data_end) const;  // by address

  std::vector<Mapping> all_;  // by address
  uint64_t heap_ = 0;
  uint64_t stack_room_;
};

// Finds the files mapped executable, by address, with the load bias that their program headers (read from the target's memory)
// give. A file that is loaded twice (dlmopen) is two modules; other mappings of the file are not modules, nor is the vdso. Leaves
// Module::goroutines and goroutine 0.
std::vector<Module> find_modules(pid_t pid, const MemoryMap& map, const TargetMemory& memory);
// The same for a process that may end meanwhile. Errors: it has, so that some of its modules may not have been found.
Result<std::vector<Module>> find_modules(pid_t pid, const TargetMemory& memory);
// Returns the identity of the module's file, as base/files/elf_identity.h defines it; empty: unknown.
std::string identity_of(const Module& module, const TargetMemory& memory);

}  // namespace spile::engine
