#pragma once
// Takes records out of output rings (abi/record.h). Any traced process can write to the rings and their heads, so how far a ring
// has been read is kept here, and bytes are copied before they are checked: nothing changes after the check. Thread rule: one
// thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/arena.h"
#include "abi/record.h"

namespace spile::session {

class RingReader {
 public:
  // slots: of the arena. owner_size: of its records (codegen::ArenaLayout).
  RingReader(uint32_t slots, uint32_t owner_size) : tails_(slots), owner_size_(owner_size) {}

  struct Taken {
    bool any = false;        // the ring had new bytes
    bool more = false;       // it had more than `most`: the next call takes them
    bool damaged = false;    // bytes followed that no handler can have written; they and all behind them are lost
    uint64_t last_time = 0;  // of the last record, if any; those of the ring that are still to be taken are later
  };
  // Appends the ring's new bytes to `bytes`, as many whole records as `most` bytes hold, but one at least, frees their room in
  // the ring, and calls take_record(header, offset) for each record in them, in order; `offset` is where in `bytes` the record
  // begins, with that header. Times are changed so that they do not go back within the call and are not later than now.
  // ring: of `slot`, which is number `index`; its size is a power of two, the same in all calls for that slot. withheld: how many
  // bytes of it the writer must leave free (ArenaView::withhold). most: a multiple of 8.
  template <typename Take>
  Taken take(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, uint32_t withheld, size_t most,
             std::vector<char>& bytes, Take&& take_record) {
    const size_t begin = bytes.size();
    withheld_ = withheld;
    Taken taken = copy(slot, ring, index, most, bytes);
    size_t at = begin;
    while (at < bytes.size()) {
      abi::RecordHeader header;
      const Part part = next(bytes, at, header, taken.last_time);
      if (part == Part::kBegun && at == begin) {
        bytes.resize(begin);
        taken = copy(slot, ring, index, ring.size(), bytes);
        continue;
      }
      taken.damaged |= part == Part::kDamage;
      if (part != Part::kRecord) break;
      if (header.kind != abi::kPad) take_record(header, at);
      at += header.size;
    }
    if (taken.any) release(slot, index, taken.damaged ? SIZE_MAX : at - begin);
    taken.more = taken.any && tails_[index] != head_;
    bytes.resize(at);
    return taken;
  }

 private:
  enum class Part : uint8_t { kRecord, kBegun, kDamage };  // kBegun: its rest has not been copied
  Taken copy(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, size_t most, std::vector<char>& bytes);
  Part next(std::vector<char>& bytes, size_t at, abi::RecordHeader& header, uint64_t& time) const;
  // Tells the writer how far the ring has been read: `count` bytes farther, or, with more than there were, to its head.
  void release(abi::ThreadSlot& slot, uint32_t index, uint64_t count);

  std::vector<uint64_t> tails_;
  uint32_t owner_size_;
  // Of the bytes last copied: the ring's head, where the ring's begin is, whether a record can go on behind them, and when they
  // were copied.
  uint64_t head_ = 0;
  size_t wrap_ = 0;
  bool is_cut_ = false;
  uint32_t withheld_ = 0;  // of the ring being taken
  uint64_t now_ = 0;
};

}  // namespace spile::session
