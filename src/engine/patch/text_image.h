#pragma once
// A copy of a module's executable memory, read once. Addresses are run-time addresses.

#include <algorithm>
#include <span>
#include <vector>

#include "engine/process/target_memory.h"
#include "engine/terms/module.h"

namespace spile::engine {

class TextImage {
 public:
  // Reads the executable memory of the module in [low, high): of each mapping, as much from its begin there as can be read.
  TextImage(const TargetMemory& memory, const Module& module, Address low, Address high) {
    for (const Module::Range& range : module.text) {
      Address from = std::max(range.begin, low), to = std::min(range.end, high);
      if (from >= to) continue;
      Piece piece{from, std::vector<uint8_t>(static_cast<size_t>(to - from))};
      piece.bytes.resize(memory.read_some(from, piece.bytes));
      pieces_.push_back(std::move(piece));
    }
  }
  // Puts these bytes over what was read at `at`, if all of it was read.
  void overlay(Address at, std::span<const uint8_t> bytes) {
    for (Piece& piece : pieces_) {
      Address end = piece.begin + static_cast<int64_t>(piece.bytes.size());
      if (at < piece.begin || at + static_cast<int64_t>(bytes.size()) > end) continue;
      std::copy(bytes.begin(), bytes.end(), piece.bytes.begin() + (at - piece.begin));
    }
  }
  // Calls `visit` with each contiguous piece that was read.
  template <typename Visitor>
  void each(Visitor visit) const {
    for (const Piece& piece : pieces_) visit(piece.begin, std::span<const uint8_t>(piece.bytes));
  }
  // Up to `length` bytes from `at`, as many as its mapping has; empty if `at` was not read. Good as long as the image.
  std::span<const uint8_t> at(Address at, uint64_t length) const {
    for (const Piece& piece : pieces_) {
      if (at < piece.begin || at >= piece.begin + static_cast<int64_t>(piece.bytes.size())) continue;
      std::span<const uint8_t> rest = std::span(piece.bytes).subspan(static_cast<size_t>(at - piece.begin));
      return rest.first(std::min<uint64_t>(length, rest.size()));
    }
    return {};
  }

 private:
  struct Piece {
    Address begin;
    std::vector<uint8_t> bytes;
  };
  std::vector<Piece> pieces_;
};

}  // namespace spile::engine
