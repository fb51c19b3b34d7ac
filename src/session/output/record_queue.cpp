#include "session/output/record_queue.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace spile::session {

namespace {

constexpr uint64_t kMostPid = (uint64_t{1} << 22) - 1;  // the kernel's PID_MAX_LIMIT

bool is_limited(const abi::RecordHeader& header) { return header.kind == abi::kSystem || header.kind == abi::kSwitchFile; }

}  // namespace

// A ring with much in it is taken piece by piece, each handed on before the next is taken: room for the handlers comes soon, and
// little is held. What is there at first is taken in any case; what comes meanwhile, later.
bool RecordQueue::collect(ArenaView& arena) {
  bool any = false, more = true;
  uint64_t complete = UINT64_MAX;  // the time up to which the rings that hold more have been taken
  int64_t since = 0;
  for (uint64_t taken = 0; more && taken <= 2 * arena.largest_ring(); taken += kPiece) {
    if (const int64_t now = monotonic_ns(); now - since >= kLeastAge) {
      since = now;
      horizon_.advance(arena, now);
    }
    more = false;
    complete = UINT64_MAX;
    arena.for_each_used_slot([&](uint32_t i) {
      const RingReader::Taken ring = take_ring(arena, i);
      any |= ring.any;
      if (!ring.more) return;
      more = true;
      complete = std::min(complete, ring.last_time);
    });
    if (more) hand_on_until(std::min(horizon_.complete(), complete));
    if (held_bytes_ > kMostHeld) hand_on(true);
  }
  complete_ = std::min(horizon_.complete(), complete);
  return any;
}

void RecordQueue::collect_controller(ArenaView& arena) {
  bool any = false;
  for (RingReader::Taken ring{.more = true}; ring.more; any |= ring.any) ring = take_ring(arena, abi::kControllerSlot);
  if (any) hand_on(true);
}

bool RecordQueue::is_believed(const abi::RecordHeader& header) {
  if ((script_.target_records & abi::record_kind_bit(header.kind)) == 0) return errors_.count_disbelieved(), false;
  if (!is_limited(header)) return true;
  if (actions_held_ >= kMostActions) return errors_.count_ignored_action(), false;
  ++actions_held_;
  return true;
}

RingReader::Taken RecordQueue::take_ring(ArenaView& arena, uint32_t index) {
  using Origin = Record::Origin;
  if (!rings_) rings_ = std::make_unique<RingReader>(arena.slot_count(), owner_size_);
  const Origin origin = index == abi::kControllerSlot ? Origin::kController
                        : arena.is_kernels(index)     ? Origin::kKernel
                                                      : Origin::kTarget;
  const size_t first = held_.size();
  const auto take = [&](const abi::RecordHeader& header, size_t offset) {
    if (origin == Origin::kTarget && !is_believed(header)) return;
    if (streams_ && prints(header)) return streams_->take(record_at(offset, header.size, origin));
    held_.push_back({header.time, offset, header.size, origin});
    held_bytes_ += header.size;
  };
  const RingReader::Taken taken =
      rings_->take(arena.slot(index), arena.ring(index), index, arena.withheld(index), kPiece, bytes_, take);
  if (held_.size() > first) sorted_from_.push_back(first);
  if (taken.damaged) errors_.report_damage(index);
  if (streams_) streams_->end_ring(arena, index);
  return taken;
}

void RecordQueue::add(abi::RecordHeader header, std::span<const char> payload) {
  header.size = static_cast<uint32_t>(sizeof header + payload.size());
  if (held_bytes_ > kMostHeld) hand_on(true);
  if (held_.empty() || held_.back().time > header.time) sorted_from_.push_back(held_.size());
  const size_t offset = bytes_.size();
  bytes_.resize(offset + header.size);
  std::memcpy(bytes_.data() + offset, &header, sizeof header);
  if (!payload.empty()) std::memcpy(bytes_.data() + offset + sizeof header, payload.data(), payload.size());
  held_.push_back({header.time, offset, header.size, Record::Origin::kKernelRing});
  held_bytes_ += header.size;
}

Record RecordQueue::record_at(size_t offset, size_t size, Record::Origin origin) const {
  Record record{};
  const char* at = bytes_.data() + offset;
  std::memcpy(&record.header, at, sizeof(abi::RecordHeader));
  record.payload = at + sizeof(abi::RecordHeader);
  record.size = size - sizeof(abi::RecordHeader) - owner_size_;
  record.origin = origin;
  std::memcpy(&record.header.owner, record.payload + record.size, owner_size_);
  if (record.header.owner.process > kMostPid || record.header.owner.thread > kMostPid) record.header.owner = {};
  return record;
}

// Neighbors, each in order, are merged, in rounds, until all is in order.
void RecordQueue::sort_held() {
  if (sorted_from_.empty() || sorted_from_.front() != 0) sorted_from_.insert(sorted_from_.begin(), 0);
  sorted_from_.erase(std::unique(sorted_from_.begin(), sorted_from_.end()), sorted_from_.end());
  auto begin_of = [&](size_t part) {
    return held_.begin() + static_cast<ptrdiff_t>(part < sorted_from_.size() ? sorted_from_[part] : held_.size());
  };
  while (sorted_from_.size() > 1) {
    std::vector<size_t> merged;
    for (size_t part = 0; part < sorted_from_.size(); part += 2) {
      merged.push_back(sorted_from_[part]);
      std::inplace_merge(begin_of(part), begin_of(part + 1), begin_of(part + 2),
                         [](const Held& a, const Held& b) { return a.time < b.time; });
    }
    sorted_from_ = std::move(merged);
  }
  sorted_from_.clear();
}

void RecordQueue::hand_on_until(uint64_t time) {
  sort_held();
  const auto after = std::upper_bound(held_.begin(), held_.end(), time, [](uint64_t t, const Held& h) { return t < h.time; });
  for (auto held = held_.begin(); held != after; ++held) {
    const Record record = record_at(held->offset, held->size, held->origin);
    if (held->origin == Record::Origin::kTarget && is_limited(record.header)) --actions_held_;
    ordered_.take(record);
    held_bytes_ -= held->size;
  }
  if (after != held_.begin()) ordered_.flush();
  held_.erase(held_.begin(), after);
  drop_old_bytes();
}

void RecordQueue::drop_old_bytes() {
  if (bytes_.size() - held_bytes_ < held_bytes_) return;
  rest_.clear();
  for (Held& held : held_) {
    const size_t offset = rest_.size();
    const auto begin = bytes_.begin() + static_cast<ptrdiff_t>(held.offset);
    rest_.insert(rest_.end(), begin, begin + held.size);
    held.offset = offset;
  }
  bytes_.swap(rest_);
}

}  // namespace spile::session
