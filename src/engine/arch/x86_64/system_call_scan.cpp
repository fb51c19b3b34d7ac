#include "engine/arch/x86_64/system_call_scan.h"

#include <string.h>

#include <algorithm>

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMostBehind = 256;
constexpr uint64_t kShortReach = 128;
constexpr uint64_t kMostBehindFunction = 32;
constexpr uint64_t kNearJump = 5;

enum class Place : uint8_t { kInstruction, kWithinAnother, kUnclear };

// What stands at `offset`, reading from `begin` on. `end`: of the function; behind it, only as far as it goes on.
Place judge(std::span<const uint8_t> text, uint64_t begin, uint64_t end, uint64_t offset) {
  if (offset >= end + kMostBehindFunction) return Place::kUnclear;
  bool goes_on = true;
  uint64_t at = begin;
  while (at < offset) {
    auto instruction = decode(text.subspan(at, std::min<uint64_t>(text.size() - at, 15)));
    if (!instruction || (at >= end && !goes_on)) return Place::kUnclear;
    goes_on = instruction->flow != Flow::kLeaves && instruction->flow != Flow::kJump;
    at += instruction->length;
  }
  if (at == offset) return offset < end || goes_on ? Place::kInstruction : Place::kUnclear;
  return at <= end ? Place::kWithinAnother : Place::kUnclear;
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

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at,
                                               const FunctionBefore& function_before) {
  static constexpr uint8_t kSyscall[] = {0x0f, 0x05}, kSysenter[] = {0x0f, 0x34}, kInterrupt[] = {0xcd, 0x80};
  std::vector<FoundSystemCall> found;
  auto each = [&](std::span<const uint8_t> pattern, bool native) {
    for (uint64_t from = 0; from + 2 <= text.size();) {
      const void* place = memmem(text.data() + from, text.size() - from, pattern.data(), pattern.size());
      if (!place) break;
      uint64_t offset = static_cast<uint64_t>(static_cast<const uint8_t*>(place) - text.data());
      from = offset + 1;
      FoundSystemCall call;
      call.at = at + static_cast<int64_t>(offset);
      auto function = function_before(call.at);
      Place what = Place::kUnclear;
      if (function && function->first >= at) {
        what = judge(text, static_cast<uint64_t>(function->first - at), static_cast<uint64_t>(function->second - at), offset);
        call.before = function->first;
      }
      // Calls of the 32-bit kind are next to never made by 64-bit programs: two bytes that are no known instruction are none.
      if (what == Place::kWithinAnother || (what == Place::kUnclear && !native)) continue;
      call.certain = what == Place::kInstruction && native;
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
