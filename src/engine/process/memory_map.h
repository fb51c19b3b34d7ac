#pragma once
// A process's mappings (/proc/PID/maps), the ELF modules among them, and free room between them.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/proc.h"
#include "base/result.h"
#include "engine/terms/module.h"

namespace spile::engine {

class TargetMemory;

class MemoryMap {
 public:
  static Result<MemoryMap> read(pid_t pid);
  // mappings: in any order. heap: where the heap begins, or is going to begin; 0: unknown.
  explicit MemoryMap(std::vector<Mapping> mappings, uint64_t heap = 0);

  const std::vector<Mapping>& all() const { return all_; }
  // The mapping that has the address, or nullptr.
  const Mapping* find(uint64_t address) const;
  // The first mapping of that path, or nullptr.
  const Mapping* find_named(std::string_view path) const;

  // Finds room for `size` bytes all of which are within `reach` of every byte of [low, high): below it if possible, since
  // heaps grow upwards; above the heap only as far from it as possible. Keeps away from the stack.
  std::optional<uint64_t> find_room(uint64_t low, uint64_t high, uint64_t size, uint64_t reach) const;
  // Finds room for `size` bytes anywhere, up to `apart` bytes below what is mapped above it, which grows downwards: the highest such place.
  std::optional<uint64_t> find_hole(uint64_t size, uint64_t apart) const;
  // Whether the page is not mapped, and no heap or stack grows to it.
  bool is_free_page(uint64_t page) const;

 private:
  // Where nothing of ours may be: a mapping, and where it may grow to.
  struct OccupiedRange {
    uint64_t begin, end;
    bool grows;  // upwards, further than `end`: a heap
  };
  std::vector<OccupiedRange> occupied_ranges(uint64_t data_end) const;  // by address

  std::vector<Mapping> all_;  // by address
  uint64_t heap_ = 0;
};

// Files mapped executable, with the load bias that their program headers (read from the target's memory) give.
// A file that is loaded twice (dlmopen) is two modules; other mappings of the file are not modules.
std::vector<Module> find_modules(pid_t pid, const MemoryMap& map, const TargetMemory& memory);
// The identity of the module's file, as base/elf_identity.h defines it; empty: unknown.
std::string identity_of(const Module& module, const TargetMemory& memory);

}  // namespace spile::engine
