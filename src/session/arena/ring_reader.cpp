#include "session/arena/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "abi/time_counter.h"

namespace spile::session {

RingReader::Taken RingReader::copy(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, std::vector<char>& bytes) {
  const uint64_t head = std::atomic_ref<uint64_t>(slot.ring_head).load(std::memory_order_acquire);
  uint64_t& tail = tails_[index];
  wrap_ = SIZE_MAX;
  std::atomic_ref<uint64_t> published(slot.ring_tail);
  if (head == tail) {
    if (published.load(std::memory_order_relaxed) != tail) published.store(tail, std::memory_order_release);
    return {};
  }
  const uint64_t count = head - tail;
  bool sound = count <= ring.size() && head % 8 == 0;
  if (sound) {
    const uint64_t at = tail & (ring.size() - 1), first = std::min<uint64_t>(count, ring.size() - at);
    wrap_ = bytes.size() + first;
    bytes.insert(bytes.end(), ring.data() + at, ring.data() + at + first);
    bytes.insert(bytes.end(), ring.data(), ring.data() + (count - first));
  }
  // From here on, the compiler reads the copy, never the ring again.
  asm volatile("" ::: "memory");
  now_ = abi::time_counter();
  // An unsound head was not written by a handler: reading goes on where the writer is.
  tail = sound ? head : head & ~uint64_t{7};
  published.store(tail, std::memory_order_release);
  return {true, !sound};
}

bool RingReader::next(std::vector<char>& bytes, size_t at, abi::RecordHeader& header, uint64_t& time) const {
  const size_t end = at < wrap_ ? std::min(wrap_, bytes.size()) : bytes.size();  // a record does not wrap
  const size_t left = end - at;
  header = {};
  if (left < sizeof header) {
    header.size = static_cast<uint32_t>(left);  // too small for a record: the writer went to the ring's start
    return true;
  }
  std::memcpy(&header, bytes.data() + at, sizeof header);
  if (header.size < sizeof header || header.size % 8 != 0 || header.size > left) return false;
  if (header.kind == abi::kPad) return true;  // whose other fields have not been written
  time = header.time = std::clamp(header.time, time, std::max(time, now_));
  std::memcpy(bytes.data() + at, &header, sizeof header);
  return true;
}

}  // namespace spile::session
