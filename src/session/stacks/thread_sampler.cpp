#include "session/stacks/thread_sampler.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <queue>
#include <utility>

#include "abi/machine.h"
#include "abi/stack_tables.h"
#include "base/messages.h"
#include "base/processes/proc.h"
#include "base/processes/watchpoints.h"
#include "engine/process/process_status.h"
#include "sema/terms/intrinsics.h"

namespace spile::session {

namespace {

constexpr int64_t kDefaultInterval = 10'000'000;  // 100 samples a second of CPU time, as in the kernel
// Bytes of the stack that are copied with each sample where the script walks it; watchpoints may be hit often.
constexpr uint32_t kProfileStack = 16384, kAccessStack = 4096;
constexpr size_t kRingPages[] = {512, 64, 16, 8};  // the first size that the user may lock
constexpr int64_t kAccessPatienceNs = 10'000'000;  // of watchpoints, which may be hit at any rate
constexpr int64_t kLeastPatienceNs = 2'000'000;
// Where a sample's time is in its record: behind the header, the process and the thread (PERF_SAMPLE_TID).
constexpr size_t kTimeOffset = sizeof(perf_event_header) + 8;

// Reads a sample's fields one by one.
class Fields {
 public:
  Fields(const char* at, size_t size) : at_(at), left_(size) {}
  template <typename T>
  T next() {
    T value{};
    if (left_ < sizeof value) return left_ = 0, value;
    std::memcpy(&value, at_, sizeof value);
    skip(sizeof value);
    return value;
  }
  const char* take(size_t size) {
    if (left_ < size) return left_ = 0, nullptr;
    const char* here = at_;
    skip(size);
    return here;
  }

 private:
  void skip(size_t size) {
    at_ += size;
    left_ -= size;
  }
  const char* at_;
  size_t left_;
};

}  // namespace

struct ThreadSampler::Ring {
  int probe = 0;
  uint64_t period = 0;  // of timer.profile, to be set after the first sample; 0: it has been set
  bool is_profile = false;
  bool counts_all = false;  // the event's own count is the number of samples that it should have taken
  uint64_t taken = 0;
  UniqueFd fd;
  perf_event_mmap_page* page = nullptr;
  size_t size = 0;           // of the data, a power of two
  std::vector<char> record;  // where it is not in one piece
  ~Ring() {
    if (page) munmap(page, size + abi::kPageSize);
  }

  const char* data() const { return reinterpret_cast<const char*>(page) + abi::kPageSize; }
  uint64_t head() const { return std::atomic_ref<__u64>(page->data_head).load(std::memory_order_acquire); }
  uint64_t tail() const { return std::atomic_ref<__u64>(page->data_tail).load(std::memory_order_relaxed); }
  void set_tail(uint64_t tail) { std::atomic_ref<__u64>(page->data_tail).store(tail, std::memory_order_release); }
  void copy(uint64_t at, void* out, size_t bytes) const {
    for (size_t done = 0; done < bytes;) {
      const size_t position = (at + done) & (size - 1);
      const size_t chunk = std::min(bytes - done, size - position);
      std::memcpy(static_cast<char*>(out) + done, data() + position, chunk);
      done += chunk;
    }
  }
  // Returns bytes of the ring; valid until the tail is set, or the next call.
  const char* piece(uint64_t at, size_t bytes) {
    const size_t position = at & (size - 1);
    if (position + bytes <= size) return data() + position;
    record.resize(bytes);
    copy(at, record.data(), bytes);
    return record.data();
  }
};

ThreadSampler::ThreadSampler(const sema::Program& program, Run run, Locate locate)
    : run_(std::move(run)),
      locate_(std::move(locate)),
      wants_stack_(program.needs & sema::kNeedsStack),
      patience_ns_(kLongestPatienceNs) {
  for (const sema::Probe& probe : program.probes) {
    if (sema::info(probe.kind).source != sema::Source::kSampler || probe.domain != sema::Domain::kController) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      wishes_.push_back({probe.index, probe.kind, point.interval_ns, point.site, point.sequence != 0});
    }
  }
  if (samples()) first_samples_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
}

ThreadSampler::~ThreadSampler() = default;

Result<std::unique_ptr<ThreadSampler::Ring>> ThreadSampler::open(const Wish& wish, pid_t pid, pid_t tid) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.sample_type =
      PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | (wants_stack_ ? PERF_SAMPLE_STACK_USER : 0);
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.sample_regs_user = abi::kKernelLayout.sampled_bits;
  if (wants_stack_) attributes.sample_stack_user = wish.kind == sema::ProbeKind::kProfile ? kProfileStack : kAccessStack;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  const char* what = "sample";
  uint64_t period = 0;
  if (wish.kind == sema::ProbeKind::kProfile) {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    period = static_cast<uint64_t>(wish.interval_ns > 0 ? wish.interval_ns : kDefaultInterval);
    // A thread that uses less than a period is sampled with a probability in proportion to its time.
    attributes.sample_period = 1 + random_() % period;
    attributes.disabled = 1;
    attributes.wakeup_events = 1;
  } else {
    what = "set a watchpoint in";
    if (!watchpoints_work()) return Error{kNoWatchpoints, kNoWatchpointsHint};
    uint64_t address = locate_(pid, wish.site);
    if (address == 0)
      return Error{fmt::format("{} is not mapped in process {}", wish.site.module, pid),
                   "a library can be watched once it is loaded: attach with -x"};
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = wish.reads_too ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
    attributes.bp_addr = address;
    attributes.bp_len = wish.site.size;
    attributes.sample_period = 1;
  }
  auto ring = std::make_unique<Ring>();
  ring->probe = wish.probe;
  ring->period = period;
  ring->is_profile = wish.kind == sema::ProbeKind::kProfile;
  ring->counts_all = wish.kind == sema::ProbeKind::kDataAccess;
  ring->fd = UniqueFd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!ring->fd) {
    if (errno == ESRCH) return std::unique_ptr<Ring>();
    const char* hint = errno == ENOSPC   ? "the processor has four watchpoints for a thread"
                       : errno == EACCES ? "see kernel.perf_event_paranoid"
                                         : "";
    return Error::from_errno(fmt::format("{} thread {}", what, tid), errno, hint);
  }
  for (size_t pages : kRingPages) {
    ring->size = pages * abi::kPageSize;
    void* memory = mmap(nullptr, ring->size + abi::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd.get(), 0);
    if (memory == MAP_FAILED) continue;
    ring->page = static_cast<perf_event_mmap_page*>(memory);
    // Its header, numbers of process and thread, time, kind and number of registers, and the stack with its two sizes.
    const uint64_t record = 40 + abi::kKernelLayout.sampled.size() * 8 + attributes.sample_stack_user;
    const int64_t patience = period ? static_cast<int64_t>(period * (ring->size / record) / 2) : kAccessPatienceNs;
    patience_ns_ = std::min(patience_ns_, std::max(patience, kLeastPatienceNs));
    epoll_event first{EPOLLIN | EPOLLONESHOT, {}};
    if (period && first_samples_) epoll_ctl(first_samples_.get(), EPOLL_CTL_ADD, ring->fd.get(), &first);
    if (period && ioctl(ring->fd.get(), PERF_EVENT_IOC_REFRESH, 1) != 0) {
      if (errno == ESRCH) return std::unique_ptr<Ring>();
      return Error::from_errno(fmt::format("sample thread {}", tid), errno);
    }
    return ring;
  }
  return Error::from_errno(fmt::format("map samples of thread {}", tid), errno, "see kernel.perf_event_mlock_kb");
}

void ThreadSampler::add_thread(pid_t pid, pid_t tid) {
  std::vector<std::unique_ptr<Ring>>& rings = rings_[tid];
  rings.clear();
  for (const Wish& wish : wishes_) {
    auto ring = open(wish, pid, tid);
    if (ring.ok()) {
      if (*ring) rings.push_back(std::move(*ring));
    } else if (!std::exchange(warned_, true)) {
      warn(ring.error().message, ring.error().hint);
    }
  }
}

Result<void> ThreadSampler::start(const std::vector<pid_t>& processes) {
  if (wishes_.empty()) return {};
  running_ = true;
  for (pid_t pid : processes) {
    for (pid_t tid : threads_of(pid)) add_thread(pid, tid);
  }
  for (const auto& [tid, rings] : rings_) {
    if (!rings.empty()) return {};
  }
  return warned_ ? Error{"no thread can be sampled", "see the warning above"} : Result<void>{};
}

void ThreadSampler::catch_up(const std::vector<pid_t>& processes) {
  if (!running_) return;
  for (pid_t pid : processes) {
    for (pid_t tid : threads_of(pid)) {
      if (!rings_.contains(tid)) add_thread(pid, tid);
    }
  }
}

void ThreadSampler::on_change(const engine::ThreadChange& change) {
  if (!running_) return;
  using Kind = engine::ThreadChange::Kind;
  switch (change.kind) {
    case Kind::kProcessBorn:
    case Kind::kThreadBorn:
    case Kind::kExecuted:
      if (change.kind == Kind::kExecuted) drain();
      return add_thread(change.pid, change.tid);
    case Kind::kThreadEnding:
    case Kind::kThreadEnded:
    case Kind::kProcessEnded:
      if (auto found = rings_.find(change.tid); found != rings_.end()) {
        for (auto& ring : found->second) finish(*ring);
        rings_.erase(found);
      }
      return;
    default: return;
  }
}

void ThreadSampler::run_sample(const Ring& ring, const char* record, size_t size) {
  Fields fields(record, size);
  abi::Subject subject{};
  std::span<const char> stack_copy;
  subject.active = 1;
  subject.pid = fields.next<uint32_t>();
  subject.tid = fields.next<uint32_t>();
  subject.time_ns = fields.next<int64_t>();
  if (fields.next<uint64_t>() == PERF_SAMPLE_REGS_ABI_64) {
    for (size_t word : abi::kKernelLayout.sampled) subject.registers[word] = fields.next<uint64_t>();
    subject.frame_kind = abi::kFrameInside;
    auto copied = wants_stack_ ? fields.next<uint64_t>() : 0;
    const char* stack = fields.take(copied);
    auto used = copied > 0 ? fields.next<uint64_t>() : 0;
    if (stack && used <= copied) {
      subject.stack_begin = subject.registers[abi::kConvention.stack_pointer];
      stack_copy = {stack, used};
    }
  }
  run_(ring.probe, subject, stack_copy);
}

bool ThreadSampler::find_next(Ring& ring, uint64_t head, uint64_t& time) {
  uint64_t tail = ring.tail();
  while (tail < head) {
    perf_event_header header;
    ring.copy(tail, &header, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) break;
    if (header.type == PERF_RECORD_SAMPLE && header.size >= kTimeOffset + sizeof time) {
      ring.copy(tail + kTimeOffset, &time, sizeof time);
      return true;
    }
    if (uint64_t lost = 0;
        header.type == PERF_RECORD_LOST && !ring.counts_all && header.size >= sizeof header + 8 + sizeof lost) {
      ring.copy(tail + sizeof header + 8, &lost, sizeof lost);
      lost_ += lost;
    }
    ring.set_tail(tail += header.size);
  }
  return false;
}

void ThreadSampler::take_next(Ring& ring) {
  const uint64_t tail = ring.tail();
  perf_event_header header;
  ring.copy(tail, &header, sizeof header);
  ++ring.taken;
  const size_t size = header.size - sizeof header;
  run_sample(ring, ring.piece(tail + sizeof header, size), size);
  ring.set_tail(tail + header.size);
}

void ThreadSampler::drain(Ring& ring) {
  const uint64_t head = ring.head();
  for (uint64_t time; find_next(ring, head, time);) take_next(ring);
}

// The ring reports a loss only when it has room again, so the event's own count is compared at the end.
void ThreadSampler::finish(Ring& ring) {
  ioctl(ring.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  drain(ring);
  uint64_t count = 0;
  if (read(ring.fd.get(), &count, sizeof count) != sizeof count) return;
  if (ring.counts_all && count > ring.taken) lost_ += count - ring.taken;
  if (!ring.is_profile) return;
  profile_.samples += ring.taken;
  ++profile_.threads;
  profile_.period_ns = ring.period;
  profile_.unseen_ns += ring.taken ? 0 : count;
}

void ThreadSampler::drain() {
  if (rings_.empty()) return;
  for (epoll_event first[64]; epoll_wait(first_samples_.get(), first, std::size(first), 0) == std::size(first);) {
  }
  struct Next {
    uint64_t time, head;
    Ring* ring;
    bool operator>(const Next& other) const { return time > other.time; }
  };
  std::priority_queue<Next, std::vector<Next>, std::greater<>> earliest;
  auto look = [&](Ring& ring, uint64_t head) {
    if (uint64_t time; find_next(ring, head, time)) earliest.push({time, head, &ring});
  };
  // What comes meanwhile is for the next call: handlers that are slower than samples come must not keep spile here.
  for (auto& [tid, rings] : rings_) {
    for (auto& ring : rings) look(*ring, ring->head());
  }
  while (!earliest.empty()) {
    const Next next = earliest.top();
    Ring& ring = *next.ring;
    earliest.pop();
    take_next(ring);
    look(ring, next.head);
    if (!ring.period) continue;
    ioctl(ring.fd.get(), PERF_EVENT_IOC_PERIOD, &ring.period);
    ioctl(ring.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
    epoll_ctl(first_samples_.get(), EPOLL_CTL_DEL, ring.fd.get(), nullptr);
    ring.period = 0;
  }
}

void ThreadSampler::stop() {
  running_ = false;
  for (auto& [tid, rings] : rings_) {
    for (auto& ring : rings) finish(*ring);
  }
  rings_.clear();
}

}  // namespace spile::session
