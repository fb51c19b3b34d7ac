#include "session/arena/arena_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include <utility>

#include "abi/kernel.h"

namespace spile::session {

namespace {

constexpr uint64_t kReach = uint64_t{1} << 32;  // the kernel looks at the low half of an address in a BPF arena
constexpr uint64_t kMostConstants = 16 << 20;   // KernelSide::load() refuses more

}  // namespace

Result<ArenaMemory> ArenaMemory::create(const codegen::CompiledScript& script) {
  ArenaMemory memory;
  memory.layout_ = script.layout;
  if (!script.kernel.over_arena) return memory;
  const uint64_t size = script.kernel.arena.size + kMostConstants;
  if (size > abi::kLargestKernelArena) {
    return Error{"the globals need more memory than handlers in the kernel can share (2 GiB)",
                 "make arrays smaller (global a[N], -D MAXMAPENTRIES=N) or use a smaller -s"};
  }
  uint8_t* place = nullptr;
  if (script.layout.kernel_offset != 0) {
    memory.range_size_ = script.layout.kernel_offset + size + kReach;
    void* range = mmap(nullptr, memory.range_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
      return Error::from_errno("find room for the arenas", errno, "use fewer or smaller arrays, or a smaller -s");
    memory.range_ = range;
    uint64_t begin = (reinterpret_cast<uint64_t>(range) + kReach - 1) / kReach * kReach;
    memory.reserved_ = reinterpret_cast<void*>(begin);
    place = reinterpret_cast<uint8_t*>(begin + script.layout.kernel_offset);
  }
  TRY(bpf::Arena made, bpf::Arena::create(size, place));
  memory.kernel_.emplace(std::move(made));
  if (script.layout.shared_size > 0) {
    TRY(memory.shared_, bpf::make_shared_array(script.layout.shared_size));
  }
  return memory;
}

ArenaMemory::ArenaMemory(ArenaMemory&& other) noexcept { *this = std::move(other); }

ArenaMemory& ArenaMemory::operator=(ArenaMemory&& other) noexcept {
  CHECK(!range_ && !kernel_);
  layout_ = other.layout_;
  reserved_ = std::exchange(other.reserved_, nullptr);
  range_ = std::exchange(other.range_, nullptr);
  range_size_ = std::exchange(other.range_size_, 0);
  shared_ = std::move(other.shared_);
  if (other.kernel_) kernel_.emplace(std::move(*other.kernel_));
  other.kernel_.reset();
  return *this;
}

ArenaMemory::~ArenaMemory() {
  kernel_.reset();
  if (range_) munmap(range_, range_size_);
}

Result<void> ArenaMemory::cover_shared_pages() const {
  if (!shared_) return {};
  void* place = static_cast<uint8_t*>(reserved_) + layout_.shared_offset;
  void* covered = mmap(place, layout_.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, shared_.get(), 0);
  if (covered != place) return Error::from_errno("map what processes and the kernel share", errno, "use fewer or smaller arrays");
  return {};
}

std::span<uint8_t> ArenaMemory::all() const {
  if (!kernel_) return {};
  std::span<uint8_t> kernels = kernel_->memory();
  return reserved_ ? std::span(static_cast<uint8_t*>(reserved_), layout_.kernel_offset + kernels.size()) : kernels;
}

}  // namespace spile::session
