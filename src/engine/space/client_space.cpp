#include "engine/space/client_space.h"

#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>

namespace spile::engine {

Result<std::shared_ptr<ArenaHeaderView>> ArenaHeaderView::open(int arena_fd) {
  void* view = mmap(nullptr, abi::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
  if (view == MAP_FAILED) return Error::from_errno("map an arena's header", errno);
  return std::make_shared<ArenaHeaderView>(static_cast<abi::ArenaHeader*>(view));
}

ArenaHeaderView::~ArenaHeaderView() { munmap(header_, abi::kPageSize); }

uint64_t ArenaHeaderView::taken_slots() const {
  uint64_t count = 0;
  for (uint64_t& word : header_->taken)
    count += static_cast<uint64_t>(std::popcount(std::atomic_ref(word).load(std::memory_order_relaxed)));
  return count;
}

void ArenaHeaderView::give_back(uint64_t slot) {
  if (slot >= abi::kMostSlots) return;
  std::atomic_ref(header_->taken[slot / 64]).fetch_and(~(uint64_t{1} << slot % 64), std::memory_order_relaxed);
}

}  // namespace spile::engine
