#include "bpf/arena.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "abi/kernel.h"
#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

constexpr uint64_t kAlignment = uint64_t{1} << 32;
constexpr uint32_t kArenaMap = 33;        // BPF_MAP_TYPE_ARENA
constexpr uint32_t kMmapable = 1u << 10;  // BPF_F_MMAPABLE
constexpr uint64_t kPage = 4096;

// The fields of union bpf_attr for BPF_MAP_CREATE that arenas use.
struct MapAttributes {
  uint32_t map_type, key_size, value_size, max_entries, map_flags, inner_map_fd, numa_node;
  char map_name[16];
  uint32_t map_ifindex, btf_fd, btf_key_type_id, btf_value_type_id, btf_vmlinux_value_type_id;
  uint64_t map_extra;
};

UniqueFd make_map(uint64_t size, uint64_t address) {
  MapAttributes attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.map_type = kArenaMap;
  attributes.max_entries = static_cast<uint32_t>(size / kPage);
  attributes.map_flags = kMmapable;
  attributes.map_extra = address;
  std::memcpy(attributes.map_name, "spile_arena", 12);
  return UniqueFd(static_cast<int>(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes)));
}

// A program that adds to a word of the arena atomically, which came last of what handlers need (6.10; Debian's first kernel with
// it is 6.12).
bool loads_program(int arena) {
  bpf_insn code[] = {
      {BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, arena},
      {0, 0, 0, 0, 0},
      {BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 0},
      {BPF_ALU64 | BPF_MOV | BPF_X, 1, 1, 1, 1},  // r1 = addr_space_cast(r1, 0, 1)
      {BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 1},
      {BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD},
      {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  UniqueFd program(
      bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "spile_check", "Dual MIT/GPL", code, sizeof code / sizeof code[0], nullptr));
  return static_cast<bool>(program);
}

}  // namespace

bool Arena::is_supported() {
  static const bool supported = [] {
    Result<Arena> arena = create(kPage);
    return arena.ok() && loads_program(arena->fd());
  }();
  return supported;
}

Result<Arena> Arena::create(uint64_t size, uint8_t* place) {
  // A place from abi::kKernelArenaBase above a multiple of 4 GiB on.
  uint64_t begin = 0, address = reinterpret_cast<uint64_t>(place);
  if (!place) {
    void* reserved = mmap(nullptr, 2 * kAlignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return Error::from_errno("find room for the arena", errno);
    begin = reinterpret_cast<uint64_t>(reserved);
    address = (begin + kAlignment - 1) / kAlignment * kAlignment + abi::kKernelArenaBase;
  }
  Arena arena;
  arena.fd_ = make_map(size, address);
  int error = errno;
  if (arena.fd_) {
    void* mapped =
        mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, arena.fd_.get(), 0);
    error = errno;
    if (mapped != MAP_FAILED) {
      arena.memory_ = static_cast<uint8_t*>(mapped);
      arena.size_ = size;
    }
  }
  if (!place) {
    munmap(reinterpret_cast<void*>(begin), address - begin);
    uint64_t used = arena.memory_ ? address + size : address;
    munmap(reinterpret_cast<void*>(used), begin + 2 * kAlignment - used);
  }
  if (arena.memory_) return arena;
  if (is_privilege_error(error)) return privilege_error("make memory that handlers in the kernel share", error);
  return Error::from_errno("make memory that handlers in the kernel share", error,
                           "use fewer or smaller arrays, or a smaller -s");
}

Arena::Arena(Arena&& other) noexcept
    : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena::~Arena() {
  if (memory_) munmap(memory_, size_);
}

Result<void> Arena::populate(uint64_t offset, uint64_t size) const {
  uint64_t begin = offset / kPage * kPage, end = std::min((offset + size + kPage - 1) / kPage * kPage, size_);
  if (madvise(memory_ + begin, end - begin, MADV_POPULATE_WRITE) == 0) return {};
  return Error::from_errno("get memory for handlers in the kernel", errno, "use fewer or smaller arrays, or a smaller -s");
}

Result<UniqueFd> make_shared_array(uint64_t size) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  UniqueFd made(bpf_map_create(BPF_MAP_TYPE_ARRAY, "spile_shared", 4, static_cast<uint32_t>(size), 1, &options));
  if (made) return made;
  int error = errno;
  if (is_privilege_error(error)) return privilege_error("make memory that handlers in the kernel and in processes share", error);
  return Error::from_errno("make memory that handlers in the kernel and in processes share", error,
                           "make arrays smaller (global a[N], -D MAXMAPENTRIES=N)");
}

}  // namespace spile::bpf
