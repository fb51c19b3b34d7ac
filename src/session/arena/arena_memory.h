#pragma once
// The memory of a running script's arenas, as spile sees it: one range of addresses.
//
//   0                     the arena that processes share (engine::Engine::set_image), if handlers run there
//     shared_offset       over it: the array that processes share with handlers in the kernel
//   kernel_offset         the BPF arena of handlers in the kernel; 0: it is all that there is
//
// Thread rule: one thread.

#include <optional>
#include <span>

#include "bpf/arena.h"
#include "codegen/codegen.h"

namespace spile::session {

class ArenaMemory {
 public:
  // Makes the memory of the kernel's side of a script. Errors: no privilege, no memory.
  static Result<ArenaMemory> create(const codegen::CompiledScript& script);
  ArenaMemory() = default;
  ArenaMemory(ArenaMemory&& other) noexcept;
  ArenaMemory& operator=(ArenaMemory&& other) noexcept;
  ~ArenaMemory();

  // Where the arena of processes is to be mapped; null: the script has handlers in the kernel alone.
  void* place() const { return reserved_; }
  // What processes map over their arena's shared pages; -1: nothing.
  int shared_fd() const { return shared_ ? shared_.get() : -1; }
  // Maps the shared pages over the arena of processes, once that is mapped.
  Result<void> cover_shared_pages() const;

  // The arena of handlers in the kernel; null: they have none.
  const bpf::Arena* kernel() const { return kernel_ ? &*kernel_ : nullptr; }
  // All of it. Empty: handlers in the kernel have no arena.
  std::span<uint8_t> all() const;

 private:
  codegen::ArenaLayout layout_;
  void* reserved_ = nullptr;  // in a range of addresses of our own
  void* range_ = nullptr;
  uint64_t range_size_ = 0;
  UniqueFd shared_;
  std::optional<bpf::Arena> kernel_;
};

}  // namespace spile::session
