#include "session/arena/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "abi/time_counter.h"

namespace spile::session {

RingReader::Taken RingReader::copy(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, size_t most,
                                   std::vector<char>& bytes) {
  head_ = std::atomic_ref<uint64_t>(slot.ring_head).load(std::memory_order_acquire);
  const uint64_t tail = tails_[index], count = head_ - tail;
  if (count == 0) {
    std::atomic_ref<uint64_t> published(slot.ring_tail);
    if (published.load(std::memory_order_relaxed) != tail - withheld_)
      published.store(tail - withheld_, std::memory_order_release);
    return {};
  }
  if (count > ring.size() || head_ % 8 != 0) {
    // Not written by a handler: reading goes on where the writer is.
    head_ &= ~uint64_t{7};
    release(slot, index, SIZE_MAX);
    return {.any = true, .damaged = true};
  }
  const uint64_t copied = std::min<uint64_t>(count, most), at = tail & (ring.size() - 1),
                 first = std::min<uint64_t>(copied, ring.size() - at);
  wrap_ = bytes.size() + first;
  is_cut_ = copied < count && (copied > first || at + first < ring.size());  // a record does not wrap
  bytes.insert(bytes.end(), ring.data() + at, ring.data() + at + first);
  bytes.insert(bytes.end(), ring.data(), ring.data() + (copied - first));
  // From here on, the compiler reads the copy, never the ring again.
  asm volatile("" ::: "memory");
  now_ = abi::time_counter();
  return {.any = true};
}

void RingReader::release(abi::ThreadSlot& slot, uint32_t index, uint64_t count) {
  uint64_t& tail = tails_[index];
  tail = count > head_ - tail ? head_ : tail + count;
  std::atomic_ref<uint64_t>(slot.ring_tail).store(tail - withheld_, std::memory_order_release);
}

RingReader::Part RingReader::next(std::vector<char>& bytes, size_t at, abi::RecordHeader& header, uint64_t& time) const {
  const size_t end = at < wrap_ ? std::min(wrap_, bytes.size()) : bytes.size(), left = end - at;
  const bool is_cut = is_cut_ && end == bytes.size();
  header = {};
  if (left < sizeof header) {
    if (is_cut) return Part::kBegun;
    header.size = static_cast<uint32_t>(left);  // too small for a record: the writer went to the ring's start
    return Part::kRecord;
  }
  std::memcpy(&header, bytes.data() + at, sizeof header);
  if (header.size < sizeof header || header.size % 8 != 0) return Part::kDamage;
  if (header.size > left) return is_cut ? Part::kBegun : Part::kDamage;
  if (header.kind == abi::kPad) return Part::kRecord;  // whose other fields have not been written
  if (header.size < sizeof header + owner_size_) return Part::kDamage;
  time = header.time = std::clamp(header.time, time, std::max(time, now_));
  std::memcpy(bytes.data() + at, &header, sizeof header);
  return Part::kRecord;
}

}  // namespace spile::session
