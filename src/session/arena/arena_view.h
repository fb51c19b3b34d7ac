#pragma once
// The controller's view of the arena (abi/arena.h): fills in the header and keeps the clock. Sizes and offsets come from the
// layout, never from the arena, which traced processes can write to. Thread rule: one thread.

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "abi/arena.h"
#include "abi/kernel.h"
#include "base/result.h"
#include "codegen/codegen.h"

namespace spile::session {

class ArenaView {
 public:
  // Fills in the header, claims the controller's slot, the overflow slot and those of handlers in the kernel, and starts the
  // clock. memory: a mapping of the arena that others have too, all zero, of layout.size bytes, which must outlive this; where
  // processes see it, its private part is mapped over, so that they do not share it. Empty: nobody shares the arena, which is
  // then mapped here. kernel: the arena of handlers in the kernel, where it is another one, at layout.kernel_offset: `memory` has
  // it, too; all 0 else. Errors: no memory.
  static Result<std::unique_ptr<ArenaView>> create(const codegen::ArenaLayout& layout, std::span<uint8_t> memory,
                                                   bool is_seen_by_processes = true, const codegen::ArenaLayout& kernel = {});
  ~ArenaView();
  ArenaView(const ArenaView&) = delete;
  ArenaView& operator=(const ArenaView&) = delete;

  const codegen::ArenaLayout& layout() const { return layout_; }
  char* base() const { return base_; }
  // Returns whether `size` bytes at an address lie in the memory of either arena.
  bool holds(const void* address, uint64_t size) const {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(base_);
    auto within = [size](uint64_t at, uint64_t room) { return at < room && size <= room - at; };
    return within(offset, layout_.size) || (layout_.kernel_offset != 0 && within(offset - layout_.kernel_offset, kernel_.size));
  }
  abi::ArenaHeader& header() const { return *reinterpret_cast<abi::ArenaHeader*>(base_); }
  // The header that handlers in the kernel look at; null: they have no arena.
  abi::ArenaHeader* kernel_header() const {
    if (kernel_.kernel_slots > 0) return reinterpret_cast<abi::ArenaHeader*>(base_ + layout_.kernel_offset);
    return layout_.kernel_slots > 0 ? &header() : nullptr;
  }
  // Lets handlers run, or not, from their next hit on.
  void enable(bool on) const;
  // The process of -c or -x, for target().
  void set_target(pid_t process) const;

  // Slots are those of the arena, and behind them those of handlers in the kernel where these have another arena. REQUIRES, for
  // the functions that take one's number: index < slot_count().
  uint32_t slot_count() const { return layout_.slot_count + kernel_.kernel_slots; }
  uint32_t first_kernel_slot() const { return layout_.kernel_offset ? layout_.slot_count : abi::kFirstSlot; }
  bool is_kernels(uint32_t index) const { return index >= layout_.slot_count || index - abi::kFirstSlot < layout_.kernel_slots; }
  abi::ThreadSlot& slot(uint32_t index) const { return *reinterpret_cast<abi::ThreadSlot*>(slot_address(index)); }
  std::span<char> ring(uint32_t index) const {
    return {slot_address(index) + (index < layout_.slot_count ? layout_ : kernel_).ring_offset, ring_size(index)};
  }
  // Bytes, a power of two.
  uint32_t ring_size(uint32_t index) const {
    if (!is_kernels(index)) return layout_.ring_size;
    const codegen::ArenaLayout& layout = index < layout_.slot_count ? layout_ : kernel_;
    uint32_t number = index < layout_.slot_count ? index - abi::kFirstSlot : index - layout_.slot_count;
    return number % abi::kKernelLevels == 0 ? layout.kernel_ring_size : layout.kernel_small_ring_size;
  }
  // A ring whose memory is not all there yet: `bytes` of it seem to be full until they are given back, by any thread. withhold():
  // REQUIRES that no handler runs, and bytes < ring_size(index); give_back(): that so many are withheld, and have memory.
  void withhold(uint32_t index, uint32_t bytes);
  void give_back(uint32_t index, uint32_t bytes);
  uint32_t withheld(uint32_t index) const { return withheld_[index].load(std::memory_order_acquire); }
  uint32_t largest_ring() const { return std::max({layout_.ring_size, layout_.kernel_ring_size, kernel_.kernel_ring_size}); }

  // Calls visit(index) for each slot that anything has ever used: the controller's, the overflow slot, and, since threads claim
  // the lowest free slot and only the controller gives slots back, those before the first one never claimed.
  template <typename Visit>
  void for_each_used_slot(Visit visit) {
    auto is_used = [this](uint32_t index) { return slot(index).owner != 0 || slot(index).thread_pointer != 0; };
    while (used_slots_ < layout_.slot_count && is_used(used_slots_)) ++used_slots_;
    for (uint32_t i = 0; i < used_slots_; ++i) visit(i);
    for (uint32_t i = layout_.slot_count; i < slot_count(); ++i) visit(i);
  }

  // Returns the state that only spile and the controller's code use: it lies in memory that no process shares.
  abi::ControllerState& controller_state() const {
    return *reinterpret_cast<abi::ControllerState*>(base_ + layout_.slots_offset - abi::kPageSize);
  }
  // Copies the beginning of a sampled stack to where the controller's handlers look for it, in place of the last one. Returns the
  // number of bytes copied, abi::kStackCopySize at most.
  uint64_t keep_stack(std::span<const char> stack);
  std::vector<char> kept_stack() const;  // all of that area
  // Returns private memory of layout().exchange_size bytes, in which session and the controller's code hand over elements of
  // globals.
  char* exchange() const { return base_ + layout_.exchange_offset; }

  // The handlers' clock (abi/arena.h), of which the header has a copy: a time of the processor's counter is
  // base_ns + ((time - base_tsc) * mult >> shift) ns since the epoch of CLOCK_REALTIME.
  struct Clock {
    uint64_t mult = 0, base_tsc = 0, base_ns = 0;
    uint32_t shift = 0;
  };
  const Clock& clock() const { return clock_; }
  // The time of a reading of the time counter (abi/time_counter.h), in ns since 1970; earlier ones, too.
  int64_t time_of(uint64_t counter) const;
  // Keeps the handlers' clock on CLOCK_REALTIME: a difference of up to 1 ms is made up for by the clock's rate, without a step.
  // Above that (somebody has set the wall clock) the clock jumps, backwards too. REQUIRES: called every 100 ms or so.
  void refresh_clock();

  // Flips the epoch and waits until no handler of the old one runs. Returns the old epoch, 0 or 1. Does not wait for a thread
  // that stands still inside a handler (stopped, or in a call that blocks), and 100 ms at most, as for one that was killed there:
  // it keeps its slot busy with the old epoch (ThreadSlot::busy is 1 + epoch), and the merge must leave that slot out.
  uint32_t advance_epoch();

  // Frees the slots of all threads of a process that has ended; what the slots have added up stays.
  void release_slots_of(pid_t process);

 private:
  ArenaView(const codegen::ArenaLayout& layout, const codegen::ArenaLayout& kernel)
      : layout_(layout), kernel_(kernel), withheld_(slot_count()) {}
  char* slot_address(uint32_t index) const {
    if (index < layout_.slot_count) return base_ + layout_.slots_offset + index * layout_.slot_stride;
    return base_ + layout_.kernel_offset + kernel_.slots_offset +
           (abi::kFirstSlot + index - layout_.slot_count) * kernel_.slot_stride;
  }
  // The headers of all arenas.
  template <typename Visit>
  void for_each_header(Visit visit) const {
    visit(header());
    if (kernel_.kernel_slots > 0) visit(*kernel_header());
  }
  void start_clock();
  void publish_clock() const;
  Result<void> cover_private();

  codegen::ArenaLayout layout_, kernel_;
  std::vector<std::atomic<uint32_t>> withheld_;  // by slot
  char* base_ = nullptr;
  bool mapped_here_ = false;
  uint32_t used_slots_ = abi::kFirstSlot;
  Clock clock_;
  uint32_t epoch_ = 0;
};

}  // namespace spile::session
