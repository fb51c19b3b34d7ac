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
  // In any order. heap: where the heap begins, also before there is one; 0: not known.
  explicit MemoryMap(std::vector<Mapping> mappings, uint64_t heap = 0);

  const std::vector<Mapping>& all() const { return all_; }
  const Mapping* find(uint64_t address) const;
  const Mapping* find_named(std::string_view path) const;

  // Room for `size` bytes all of which are within `reach` of every byte of [low, high): below it if possible, since
  // heaps grow upwards; above the heap only as far from it as possible. Keeps away from the stack.
  std::optional<uint64_t> find_room(uint64_t low, uint64_t high, uint64_t size, uint64_t reach) const;
  // Anywhere, far from what is mapped above, which grows downwards, by up to `apart` bytes: the highest such place.
  std::optional<uint64_t> find_hole(uint64_t size, uint64_t apart) const;
  // Whether a page there is nobody's, and in nobody's way: not where a heap or a stack grows.
  bool is_free_page(uint64_t page) const;

 private:
  // Where nothing of ours may be, by address: what is mapped, and where it may grow to.
  struct Taken {
    uint64_t begin, end;
    bool grows;  // upwards, further than `end`: a heap
  };
  std::vector<Taken> taken(uint64_t data_end) const;

  std::vector<Mapping> all_;  // by address
  uint64_t heap_ = 0;
};

// Files mapped executable, with the load bias that their program headers (read from the target's memory) give.
// A file that is loaded twice (dlmopen) is two modules; what else a process maps of it is none.
std::vector<Module> find_modules(pid_t pid, const MemoryMap& map, const TargetMemory& memory);
// What the module is, as base/elf_identity.h says.
std::string identity_of(const Module& module, const TargetMemory& memory);

}  // namespace spile::engine
