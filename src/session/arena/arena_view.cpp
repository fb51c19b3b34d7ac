#include "session/arena/arena_view.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "abi/call_history.h"
#include "abi/time_counter.h"
#include "base/processes/proc.h"
#include "base/unique_fd.h"

namespace spile::session {

namespace {

int64_t now_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// A reading of the time counter and one of a clock, taken as close together as possible.
struct ClockPair {
  uint64_t tsc;
  int64_t ns;
};
ClockPair read_clock_pair(clockid_t clock) {
  ClockPair best{};
  uint64_t best_gap = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    uint64_t before = abi::time_counter();
    int64_t ns = now_ns(clock);
    uint64_t after = abi::time_counter();
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + best_gap / 2, ns};
    }
  }
  return best;
}

// Reads the kernel's own TSC-to-ns factors, from the mmap page of a software event (perf_event_open(2), time_mult).
bool kernel_clock_factors(uint64_t& mult, uint32_t& shift) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.exclude_kernel = 1;
  // The machine's first event of a thread makes the kernel wait for a grace period, 8 ms and more; one of a processor, for those
  // who may, does not.
  auto open = [&](pid_t thread, int cpu) {
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  };
  UniqueFd fd(open(-1, 0));
  if (!fd) fd = UniqueFd(open(0, -1));
  if (!fd) return false;
  void* page = mmap(nullptr, abi::kPageSize, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return false;
  auto* info = static_cast<perf_event_mmap_page*>(page);
  bool usable = info->cap_user_time && info->time_mult != 0;
  mult = info->time_mult;
  shift = info->time_shift;
  munmap(page, abi::kPageSize);
  return usable;
}

// Taken when the program starts, so that measuring costs no time of its own: compiling the script lies between.
const ClockPair kProgramStart = read_clock_pair(CLOCK_MONOTONIC);

void measure_clock_factors(uint64_t& mult, uint32_t& shift) {
  constexpr int64_t kLeastNs = 5'000'000;
  ClockPair now = read_clock_pair(CLOCK_MONOTONIC);
  if (int64_t left = kLeastNs - (now.ns - kProgramStart.ns); left > 0) {
    timespec pause{0, left};
    nanosleep(&pause, nullptr);
    now = read_clock_pair(CLOCK_MONOTONIC);
  }
  shift = 31;
  auto elapsed_ns = static_cast<unsigned __int128>(now.ns - kProgramStart.ns);
  mult = static_cast<uint64_t>((elapsed_ns << shift) / (now.tsc - kProgramStart.tsc));
}

uint64_t clock_at(const ArenaView::Clock& clock, uint64_t tsc) {
  auto elapsed = static_cast<unsigned __int128>(tsc - clock.base_tsc) * clock.mult;
  return clock.base_ns + static_cast<uint64_t>(elapsed >> clock.shift);
}

}  // namespace

namespace {

void fill_in(abi::ArenaHeader& header, const codegen::ArenaLayout& layout) {
  header.magic = abi::kArenaMagic;
  header.version = abi::kArenaVersion;
  header.slot_count = layout.slot_count;
  header.size = layout.size;
  header.slots_offset = layout.slots_offset;
  header.slot_stride = layout.slot_stride;
  header.calls_until = abi::kAllCalls;
}

}  // namespace

Result<std::unique_ptr<ArenaView>> ArenaView::create(const codegen::ArenaLayout& layout, std::span<uint8_t> memory,
                                                     bool is_seen_by_processes, const codegen::ArenaLayout& kernel) {
  std::unique_ptr<ArenaView> arena(new ArenaView(layout, kernel));
  if (memory.empty()) {
    void* base = mmap(nullptr, layout.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return Error::from_errno("map the arena", errno, "use fewer or smaller arrays, or a smaller -s");
    arena->base_ = static_cast<char*>(base);
    arena->mapped_here_ = true;
  } else {
    CHECK(memory.size() >= (layout.kernel_offset ? layout.kernel_offset + kernel.size : layout.size));
    arena->base_ = reinterpret_cast<char*>(memory.data());
    if (is_seen_by_processes) TRY_DO(arena->cover_private());
  }

  fill_in(arena->header(), layout);
  if (layout.kernel_offset) fill_in(*arena->kernel_header(), kernel);
  arena->slot(abi::kControllerSlot).owner = ~0ULL;
  abi::ThreadSlot& overflow = arena->slot(abi::kOverflowSlot);
  overflow.owner = ~0ULL;
  overflow.shared = 1;
  const uint32_t first = arena->first_kernel_slot();
  for (uint32_t i = first; i < first + layout.kernel_slots + kernel.kernel_slots; ++i) {
    arena->slot(i).owner = ~0ULL;
    arena->slot(i).ring_size = arena->ring_size(i);
  }

  arena->start_clock();
  arena->enable(true);
  return arena;
}

void ArenaView::withhold(uint32_t index, uint32_t bytes) {
  withheld_[index].store(bytes, std::memory_order_relaxed);
  std::atomic_ref<uint64_t>(slot(index).ring_tail).store(uint64_t{0} - bytes, std::memory_order_release);
}

// The reader may publish a tail that it has computed before, with too much withheld: it is right again at its next turn.
void ArenaView::give_back(uint32_t index, uint32_t bytes) {
  withheld_[index].fetch_sub(bytes, std::memory_order_release);
  std::atomic_ref<uint64_t>(slot(index).ring_tail).fetch_add(bytes, std::memory_order_release);
}

void ArenaView::enable(bool on) const {
  for_each_header([&](abi::ArenaHeader& header) { header.enabled = on; });
}

void ArenaView::set_target(pid_t process) const {
  for_each_header([&](abi::ArenaHeader& header) { header.target_pid = process; });
}

// Covers the private part: spile does not see what processes write to the file there, and they do not see what spile writes.
Result<void> ArenaView::cover_private() {
  uint64_t size = layout_.slots_offset + layout_.slot_stride - layout_.private_offset;
  void* place = base_ + layout_.private_offset;
  void* covered = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (covered != place) return Error::from_errno("map the private part of the arena", errno, "use fewer or smaller arrays");
  return {};
}

uint64_t ArenaView::keep_stack(std::span<const char> stack) {
  size_t size = std::min<size_t>(stack.size(), abi::kStackCopySize);
  char* copy = reinterpret_cast<char*>(&controller_state()) - abi::kStrayPageSize - abi::kStackCopySize;
  if (size > 0) std::memcpy(copy, stack.data(), size);
  return size;
}

std::vector<char> ArenaView::kept_stack() const {
  const char* copy = reinterpret_cast<const char*>(&controller_state()) - abi::kStrayPageSize - abi::kStackCopySize;
  return {copy, copy + abi::kStackCopySize};
}

ArenaView::~ArenaView() {
  if (mapped_here_) munmap(base_, layout_.size);
}

void ArenaView::start_clock() {
  if (!kernel_clock_factors(clock_.mult, clock_.shift)) measure_clock_factors(clock_.mult, clock_.shift);
  ClockPair now = read_clock_pair(CLOCK_REALTIME);
  clock_.base_tsc = now.tsc;
  clock_.base_ns = static_cast<uint64_t>(now.ns);
  publish_clock();
}

void ArenaView::publish_clock() const {
  // The instant of the base by the kernel's monotonic clock, which handlers in the kernel read.
  ClockPair now = read_clock_pair(CLOCK_MONOTONIC);
  auto since_base = static_cast<__int128>(static_cast<int64_t>(now.tsc - clock_.base_tsc)) * static_cast<__int128>(clock_.mult);
  const abi::Clock made{
      .mult = clock_.mult,
      .base_tsc = clock_.base_tsc,
      .base_ns = clock_.base_ns,
      .base_monotonic = static_cast<uint64_t>(now.ns - static_cast<int64_t>(since_base >> clock_.shift)),
      .ticks_mult = static_cast<uint64_t>((static_cast<unsigned __int128>(1) << (clock_.shift + abi::kTicksShift)) / clock_.mult),
      .shift = clock_.shift,
      .reserved = 0};
  for_each_header([&made](abi::ArenaHeader& header) {
    std::atomic_ref<uint32_t> sequence(header.clock_sequence);
    const uint32_t next = sequence.load(std::memory_order_relaxed) + 1;
    header.clocks[next % 2] = made;
    sequence.store(next, std::memory_order_release);
  });
}

int64_t ArenaView::time_of(uint64_t counter) const {
  const bool is_before = counter < clock_.base_tsc;
  const auto distance =
      static_cast<unsigned __int128>(is_before ? clock_.base_tsc - counter : counter - clock_.base_tsc) * clock_.mult >>
      clock_.shift;
  return static_cast<int64_t>(is_before ? clock_.base_ns - static_cast<uint64_t>(distance)
                                        : clock_.base_ns + static_cast<uint64_t>(distance));
}

void ArenaView::refresh_clock() {
  ClockPair now = read_clock_pair(CLOCK_REALTIME);
  uint64_t elapsed = now.tsc - clock_.base_tsc;
  if (elapsed < 100'000'000) return;  // some tens of ms
  auto ours = static_cast<int64_t>(clock_at(clock_, now.tsc));
  int64_t behind = now.ns - ours;

  uint64_t base_ns = static_cast<uint64_t>(ours);
  if (behind > 1'000'000 || behind < -1'000'000) {
    base_ns = static_cast<uint64_t>(now.ns);  // the wall clock was set
  } else {
    // Make up the difference within the next interval like this one: differences of two readings stay smooth.
    auto correction = (static_cast<__int128>(behind) << clock_.shift) / static_cast<__int128>(elapsed);
    auto limit = static_cast<__int128>(clock_.mult) / 1000;
    clock_.mult += static_cast<uint64_t>(correction > limit ? limit : correction < -limit ? -limit : correction);
  }
  clock_.base_tsc = now.tsc;
  clock_.base_ns = base_ns;
  publish_clock();
}

// Returns whether a thread comes to the end of its handler only when somebody lets it: it is stopped, perhaps by spile itself, or
// it waits in the kernel, for a child of vfork for example. In another PID namespace the number may be another thread's: whether
// that is waited for costs time, or leaves a slot to the next merge. 0, or one that has ended: false.
static bool stands_still(pid_t tid) {
  constexpr int kState = 3;
  const std::string state = tid > 0 ? stat_field(tid, kState) : "";
  return state == "t" || state == "T" || state == "D";
}

uint32_t ArenaView::advance_epoch() {
  uint32_t old = std::exchange(epoch_, 1 - epoch_);
  for_each_header(
      [this](abi::ArenaHeader& header) { std::atomic_ref<uint32_t>(header.epoch).store(epoch_, std::memory_order_seq_cst); });
  // A handler marks itself busy, then reads the epoch, without a fence between: the barrier runs on its CPU instead.
  // Traced processes are registered for the expedited form when they are attached.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  }
  constexpr int64_t kMostWait = 100'000'000, kShortWait = 100'000, kBetweenLooks = 1'000'000;
  const int64_t begin = now_ns(CLOCK_MONOTONIC);
  for_each_used_slot([&](uint32_t i) {
    std::atomic_ref<uint32_t> busy(slot(i).busy);
    int64_t next_look = now_ns(CLOCK_MONOTONIC) + kShortWait;
    while (busy.load(std::memory_order_acquire) == 1 + old) {
      const int64_t now = now_ns(CLOCK_MONOTONIC);
      if (now >= begin + kMostWait) return;
      if (now >= next_look) {
        if (stands_still(static_cast<pid_t>(slot(i).owner & 0xffffffff))) return;
        next_look = now + kBetweenLooks;
      }
      sched_yield();
    }
  });
  return old;
}

void ArenaView::release_slots_of(pid_t process) {
  for_each_used_slot([&](uint32_t i) {
    abi::ThreadSlot& slot = this->slot(i);
    if (slot.shared || i == abi::kControllerSlot || slot.owner >> 32 != static_cast<uint64_t>(process)) return;
    slot.busy = 0;
    slot.scratch_top = 0;
    // ended before it wrote its key; the slot counts as used
    if (slot.thread_pointer == 0) slot.thread_pointer = abi::kGoneEntry;
    std::atomic_ref<uint64_t>(header().taken[i / 64]).fetch_and(~(uint64_t{1} << i % 64), std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(slot.owner).store(0, std::memory_order_release);
  });
}

}  // namespace spile::session
