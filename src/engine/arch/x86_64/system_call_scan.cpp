#include "engine/arch/x86_64/system_call_scan.h"

#include <string.h>

#include <algorithm>

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMostBehind = 256;
constexpr uint64_t kShortReach = 128;
constexpr uint64_t kNearJump = 5;

// The next instruction's place, or the next byte's where there is none.
uint64_t step(std::span<const uint8_t> text, uint64_t at) {
  auto instruction = decode(text.subspan(at, std::min<uint64_t>(text.size() - at, 15)));
  return at + (instruction ? instruction->length : 1);
}

// Whether reading from `from` comes by `offset`. settled: the first instruction at or behind it that was read.
bool comes_by(std::span<const uint8_t> text, uint64_t from, uint64_t offset, uint64_t settle, uint64_t& settled) {
  uint64_t at = from;
  settled = 0;
  while (at < offset) {
    if (settled == 0 && at >= settle) settled = at;
    at = step(text, at);
  }
  if (settled == 0) settled = at;
  return at == offset;
}

enum class Place : uint8_t { kInstruction, kWithinAnother, kUnclear };

// before: an instruction some way in front of it.
Place judge(std::span<const uint8_t> text, uint64_t offset, uint64_t& before) {
  for (uint64_t distance : {uint64_t{256}, uint64_t{1024}}) {
    uint64_t starts = distance == 256 ? 6 : 48, met = 0;
    uint64_t first = offset > distance ? offset - distance : 0;
    if (offset < starts * 2) starts = 1;  // the beginning of the text: read from there
    for (uint64_t i = 0; i < starts; i++) {
      uint64_t settled;
      if (!comes_by(text, first + i, offset, first == 0 ? 0 : offset - distance * 3 / 4, settled)) continue;
      met++;
      before = settled;
    }
    if (met == starts) return Place::kInstruction;
    if (met == 0) return Place::kWithinAnother;
    if (distance > 256 && met * 16 >= starts * 15) return Place::kInstruction;
    if (distance > 256 && met * 16 <= starts) return Place::kWithinAnother;
  }
  return Place::kUnclear;
}

bool is_padding(std::span<const uint8_t> text, uint64_t at, Address begin) {
  uint64_t end = at + (kAlignment - (begin.value + at) % kAlignment) % kAlignment;
  while (at < std::min<uint64_t>(end, text.size())) {
    auto instruction = decode(text.subspan(at));
    if (!instruction || !(instruction->nop || instruction->flow == Flow::kBreakpoint)) return false;
    at += instruction->length;
  }
  return true;
}

// To where the function seems to end: a last instruction with padding behind it, and nothing further on that jumps back.
uint64_t length_behind(std::span<const uint8_t> text, uint64_t offset, Address begin) {
  uint64_t limit = std::min<uint64_t>(text.size(), offset + kMostBehind), end = 0;
  for (uint64_t at = offset; at < limit;) {
    auto instruction = decode(text.subspan(at));
    if (!instruction) break;
    at += instruction->length;
    bool leaves = instruction->flow == Flow::kLeaves || instruction->flow == Flow::kJump;
    if (end == 0 && leaves && is_padding(text, at, begin)) end = at;
    bool direct = instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional || instruction->flow == Flow::kCounted;
    uint64_t target = at + static_cast<uint64_t>(instruction->relative);
    if (end != 0 && direct && target > offset && target < offset + kNearJump) end = 0;
    if (end != 0 && at > end + kShortReach) break;
  }
  return end != 0 ? end - offset : limit - offset;
}

}  // namespace

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at) {
  static constexpr uint8_t kSyscall[] = {0x0f, 0x05}, kSysenter[] = {0x0f, 0x34}, kInterrupt[] = {0xcd, 0x80};
  std::vector<FoundSystemCall> found;
  auto each = [&](std::span<const uint8_t> pattern, bool native) {
    for (uint64_t from = 0; from + 2 <= text.size();) {
      const void* place = memmem(text.data() + from, text.size() - from, pattern.data(), pattern.size());
      if (!place) break;
      uint64_t offset = static_cast<uint64_t>(static_cast<const uint8_t*>(place) - text.data());
      from = offset + 1;
      uint64_t before = 0;
      Place what = judge(text, offset, before);
      if (what == Place::kWithinAnother) continue;
      FoundSystemCall call;
      call.at = at + static_cast<int64_t>(offset);
      call.certain = what == Place::kInstruction && native;
      call.before = at + static_cast<int64_t>(before);
      if (call.certain) call.behind = length_behind(text, offset, at);
      found.push_back(call);
    }
  };
  each(kSyscall, true);
  each(kSysenter, false);
  each(kInterrupt, false);
  return found;
}

}  // namespace spile::engine::x86_64
