#pragma once
// Takes records out of output rings (abi/record.h). Any traced process can write to the rings and their heads, so how far a ring has been
// read is kept here, and bytes are copied before they are checked: nothing changes after the check. Thread rule: one thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/arena.h"
#include "abi/record.h"

namespace spile::session {

class RingReader {
 public:
  // slots: of the arena.
  explicit RingReader(uint32_t slots) : tails_(slots) {}

  struct Taken {
    bool any = false;      // the ring had new bytes
    bool damaged = false;  // bytes followed that no handler can have written; they and all behind them are lost
  };
  // Appends the ring's new bytes to `bytes`, frees their room in the ring, and calls take_record(header, offset) for each record in them,
  // in order; `offset` is where in `bytes` the record begins, with that header. Times are changed so that they do not go back within the
  // call and are not later than now.
  // ring: of `slot`, which is number `index`; its size is a power of two, the same in all calls for that slot.
  template <typename Take>
  Taken take(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, std::vector<char>& bytes, Take&& take_record) {
    size_t begin = bytes.size();
    Taken taken = copy(slot, ring, index, bytes);
    uint64_t time = 0;
    for (size_t at = begin; at < bytes.size();) {
      abi::RecordHeader header;
      if (!next(bytes, at, header, time)) {
        taken.damaged = true;
        break;
      }
      if (header.kind != abi::kPad) take_record(header, at);
      at += header.size;
    }
    return taken;
  }

 private:
  Taken copy(abi::ThreadSlot& slot, std::span<const char> ring, uint32_t index, std::vector<char>& bytes);
  bool next(std::vector<char>& bytes, size_t at, abi::RecordHeader& header, uint64_t& time) const;

  std::vector<uint64_t> tails_;
  size_t wrap_ = 0;   // of the bytes last copied: where the ring's begin is
  uint64_t now_ = 0;  // when they were
};

}  // namespace spile::session
