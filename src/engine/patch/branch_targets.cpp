#include "engine/patch/branch_targets.h"

#include <utility>

namespace spile::engine {
namespace {

constexpr uint64_t kMostDisassembled = uint64_t{64} << 10;
constexpr uint64_t kInStep = 512;
constexpr int64_t kShortReach = 130;

// Bytes that look like a branch may be the middle of an instruction, as disassembly from the entry of a known function nearby
// shows.
class Disassembly {
 public:
  Disassembly(const std::vector<Group>& groups, Address begin, std::span<const uint8_t> bytes)
      : groups_(groups), begin_(begin), bytes_(bytes) {}

  // REQUIRES: offsets are asked for in ascending order.
  bool is_middle(uint64_t offset) {
    const Group* source = group_before(groups_, begin_ + static_cast<int64_t>(offset));
    if (!source || source->entry < begin_) return false;
    uint64_t known = static_cast<uint64_t>(source->entry - begin_);
    if (offset - known >= kMostDisassembled) return false;
    if (std::exchange(source_, source) != source) at_ = known;
    return !meets(offset);
  }
  // For code of which no function's begin may be known: disassembly soon falls into step, wherever it begins.
  bool is_likely_middle(uint64_t offset) {
    const Group* source = group_before(groups_, begin_ + static_cast<int64_t>(offset));
    at_ = offset - std::min(offset, kInStep);
    if (source && source->entry >= begin_ + static_cast<int64_t>(at_)) at_ = static_cast<uint64_t>(source->entry - begin_);
    source_ = nullptr;
    return !meets(offset);
  }

 private:
  bool meets(uint64_t offset) {
    while (at_ < offset) at_ += std::max<uint64_t>(native_architecture().instruction_length(bytes_.subspan(at_)), 1);
    return at_ == offset;
  }

  const std::vector<Group>& groups_;
  Address begin_;
  std::span<const uint8_t> bytes_;
  const Group* source_ = nullptr;
  uint64_t at_ = 0;
};

}  // namespace

std::vector<Address> far_branch_targets(const std::vector<Group>& groups, const TextImage& text, const TargetMarker& marker) {
  std::vector<Address> targets;
  text.each([&](Address begin, std::span<const uint8_t> bytes) {
    std::vector<bool> covered(bytes.size());
    Address end = begin + static_cast<int64_t>(bytes.size());
    marker([&](Address from, Address to) {
      from = std::max(from, begin);
      to = std::min(to, end);
      if (from < to) std::fill(covered.begin() + (from - begin), covered.begin() + (to - begin), true);
    });
    Disassembly disassembly(groups, begin, bytes);
    for (TextBranch branch : native_architecture().find_branches_into(bytes, covered)) {
      if (!disassembly.is_middle(branch.from)) targets.push_back(begin + static_cast<int64_t>(branch.to));
    }
  });
  return targets;
}

std::vector<Branch> short_branches(const TextImage& text, Address begin, Address end) {
  std::vector<Branch> found;
  const VariableLengthPatching* patching = native_architecture().variable_length();
  if (!patching) return found;
  text.each([&](Address piece, std::span<const uint8_t> bytes) {
    Address low = std::max(begin, piece), high = std::min(end, piece + static_cast<int64_t>(bytes.size()));
    if (low >= high) return;
    auto near = bytes.subspan(static_cast<size_t>(low - piece), static_cast<size_t>(high - low));
    for (TextBranch branch : patching->find_short_branches(near)) {
      found.push_back({low + static_cast<int64_t>(branch.from), low + static_cast<int64_t>(branch.to)});
    }
  });
  return found;
}

bool has_short_branch_into(const std::vector<Group>& groups, const TextImage& text, Address begin, Address end, Address function,
                           uint64_t size) {
  Address behind = function + static_cast<int64_t>(size);
  bool found = false;
  auto look = [&](Address from, Address to) {
    for (const Branch& branch : short_branches(text, from, to)) {
      if (found || branch.to < begin || branch.to >= end) continue;
      text.each([&](Address piece, std::span<const uint8_t> bytes) {
        if (branch.from < piece || branch.from >= piece + static_cast<int64_t>(bytes.size())) return;
        found |= !Disassembly(groups, piece, bytes).is_likely_middle(static_cast<uint64_t>(branch.from - piece));
      });
    }
  };
  look(begin + -kShortReach, function);
  if (behind < end + kShortReach) look(behind, end + kShortReach);
  return found;
}

}  // namespace spile::engine
