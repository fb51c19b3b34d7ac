#pragma once
// A BPF arena (Linux 6.9; atomics in it: 6.10; what spile uses of it: 6.12): memory that eBPF programs and user space share.
// Debian 12's libbpf does not know the map type. include/uapi/linux/bpf.h; kernel/bpf/arena.c.

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::bpf {

class Arena {
 public:
  // Whether this kernel lets this process make arenas and load programs that use them; tried once.
  static bool is_supported();
  // Makes an arena and maps it, zeroed, abi::kKernelArenaBase above a multiple of 4 GiB. size: bytes, whole pages, at most
  // abi::kLargestKernelArena. place: such an address, of memory that the caller has reserved by mmap(2) and that is replaced;
  // null: any. Errors: no privilege, no memory.
  static Result<Arena> create(uint64_t size, uint8_t* place = nullptr);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  int fd() const { return fd_.get(); }
  std::span<uint8_t> memory() const { return {memory_, size_}; }
  // Makes the pages of a range exist: a program that touches a page that is not there reads zero and writes nothing. REQUIRES:
  // the range is in the arena. Errors: no memory.
  Result<void> populate(uint64_t offset, uint64_t size) const;

 private:
  Arena() = default;
  UniqueFd fd_;
  uint8_t* memory_ = nullptr;
  uint64_t size_ = 0;
};

// Makes an array of one zeroed element of `size` bytes, whole pages, that programs reach as BPF_PSEUDO_MAP_VALUE and processes
// can map, whole or in part, at any address. Errors: no privilege, no memory.
Result<UniqueFd> make_shared_array(uint64_t size);

}  // namespace spile::bpf
