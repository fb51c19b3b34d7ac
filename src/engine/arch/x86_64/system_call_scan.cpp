#include "engine/arch/x86_64/system_call_scan.h"

#include <string.h>

#include <algorithm>
#include <set>
#include <vector>

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMostBehind = 256;
constexpr uint64_t kShortReach = 128;
constexpr uint64_t kMostBehindFunction = 32;
constexpr uint64_t kNearJump = 5;
constexpr uint8_t kShortMove = 5;

enum class Place : uint8_t { kInstruction, kWithinAnother, kUnclear };

// Classifies the bytes at `offset`, by disassembly from `begin` on. end: of the function; behind it, only as far as control goes
// on.
Place classify(std::span<const uint8_t> text, uint64_t begin, uint64_t end, uint64_t offset) {
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

// Two bytes in a place of which nothing is known are data if no program could have a call there: wherever execution went on
// from it, it would soon come to bytes that are no instruction, so a call that returns would be its end; and a call that does not
// return has its number set right before it.

// After a call that does not return compilers and people put traps, data or nothing.
bool sets_number_of_last_call(std::span<const uint8_t> before) {
  constexpr uint32_t kSigreturn = 15, kExecve = 59, kExit = 60, kExitGroup = 231, kExecveat = 322;
  auto is_last = [](uint32_t number) {
    return number == kSigreturn || number == kExecve || number == kExit || number == kExitGroup || number == kExecveat;
  };
  for (size_t i = 0; i < before.size(); i++) {
    uint32_t word = 0;
    if (i + sizeof word <= before.size()) memcpy(&word, &before[i], sizeof word);
    if (is_last(word)) return true;  // mov $60, %eax; lea 60(%rdi), %eax
    bool short_form = i > 0 && (before[i - 1] == 0x6a || before[i - 1] == 0xb0 || (i > 1 && before[i - 2] == 0x8d));
    if (short_form && is_last(before[i])) return true;  // push $60; mov $60, %al; lea 60(%rdx), %eax
  }
  return false;
}

// Whether some way on from `offset` comes to a return or the like, or goes on for long.
bool can_go_on(std::span<const uint8_t> text, uint64_t offset) {
  constexpr int kMostSteps = 256;
  std::vector<uint64_t> ways = {offset};
  std::set<uint64_t> seen;
  for (int steps = 0; !ways.empty(); steps++) {
    uint64_t at = ways.back();
    ways.pop_back();
    if (!seen.insert(at).second) continue;
    if (steps >= kMostSteps || at >= text.size()) return true;
    auto instruction = decode(text.subspan(at, std::min<uint64_t>(text.size() - at, 15)));
    if (!instruction) continue;
    bool privileged = text[at] == 0xf4 || text[at] == 0xfa || text[at] == 0xfb;        // hlt, cli, sti
    bool trap = text[at] == 0x0f && instruction->length == 2 && text[at + 1] == 0x0b;  // ud2
    if (privileged || trap) continue;
    if (instruction->flow == Flow::kLeaves || instruction->flow == Flow::kUnmovable || instruction->flow == Flow::kBreakpoint)
      return true;
    uint64_t next = at + instruction->length, target = next + static_cast<uint64_t>(instruction->relative);
    bool jumps = instruction->flow == Flow::kJump;
    bool branches = jumps || instruction->flow == Flow::kConditional || instruction->flow == Flow::kCounted;
    bool calls = instruction->flow == Flow::kCall;
    // It can't jump to or call anything outside of the text.
    if ((branches || calls) && target >= text.size()) {
      if (jumps || calls) continue;
      branches = false;
    }
    if (branches) ways.push_back(target);
    if (!jumps) ways.push_back(next);
  }
  return false;
}

bool must_be_data(std::span<const uint8_t> text, uint64_t offset) {
  constexpr uint64_t kNear = 48;
  uint64_t from = offset > kNear ? offset - kNear : 0;
  return !sets_number_of_last_call(text.subspan(from, offset - from)) && !can_go_on(text, offset + 2);
}

// `mov $SYS_munmap, %eax; syscall`, and another call right behind it: that ends a thread whose stack is gone, so that handlers
// would have none.
bool frees_own_stack(std::span<const uint8_t> text, uint64_t offset) {
  static constexpr uint8_t kUnmap[] = {0xb8, 0x0b, 0x00, 0x00, 0x00}, kSyscall[] = {0x0f, 0x05};
  constexpr uint64_t kNear = 16;
  if (offset < sizeof kUnmap || memcmp(&text[offset - sizeof kUnmap], kUnmap, sizeof kUnmap) != 0) return false;
  auto behind = text.subspan(offset + 2, std::min<uint64_t>(kNear, text.size() - offset - 2));
  return std::search(behind.begin(), behind.end(), std::begin(kSyscall), std::end(kSyscall)) != behind.end();
}

// The length of the instruction right before `offset` if it sets the call's number to `number`, else 0.
uint8_t sets_number(std::span<const uint8_t> text, uint64_t offset, uint8_t number) {
  const uint8_t move[] = {0x48, 0xc7, 0xc0, number, 0, 0, 0};      // mov $number, %rax
  const uint8_t short_move[kShortMove] = {0xb8, number, 0, 0, 0};  // mov $number, %eax
  auto precedes = [&](std::span<const uint8_t> bytes) {
    return offset >= bytes.size() && memcmp(&text[offset - bytes.size()], bytes.data(), bytes.size()) == 0;
  };
  return precedes(move) ? sizeof move : precedes(short_move) ? kShortMove : 0;
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

// Where the function seems to end: behind a last instruction with padding behind it, if nothing further on jumps back.
uint64_t length_behind(std::span<const uint8_t> text, uint64_t offset, Address begin) {
  uint64_t limit = std::min<uint64_t>(text.size(), offset + kMostBehind), end = 0;
  for (uint64_t at = offset; at < limit;) {
    auto instruction = decode(text.subspan(at));
    if (!instruction) break;
    at += instruction->length;
    bool leaves = instruction->flow == Flow::kLeaves || instruction->flow == Flow::kJump;
    if (end == 0 && leaves && is_padding(text, at, begin)) end = at;
    bool direct =
        instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional || instruction->flow == Flow::kCounted;
    uint64_t target = at + static_cast<uint64_t>(instruction->relative);
    if (end != 0 && direct && target > offset && target < offset + kNearJump) end = 0;
    if (end != 0 && at > end + kShortReach) break;
  }
  return end != 0 ? end - offset : limit - offset;
}

}  // namespace

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at, const FunctionBefore& function_before) {
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
        what = classify(text, static_cast<uint64_t>(function->first - at), static_cast<uint64_t>(function->second - at), offset);
        call.before = function->first;
      }
      // Calls of the 32-bit kind are next to never made by 64-bit programs: two bytes that are no known instruction are none.
      if (what == Place::kWithinAnother || (what == Place::kUnclear && (!native || must_be_data(text, offset)))) continue;
      call.certain = what == Place::kInstruction && native && !frees_own_stack(text, offset);
      if (call.certain) call.behind = length_behind(text, offset, at);
      if (call.certain) {
        call.ends_thread = sets_number(text, offset, 60) == kShortMove;
        call.returning = sets_number(text, offset, 15);
      }
      found.push_back(call);
    }
  };
  each(kSyscall, true);
  each(kSysenter, false);
  each(kInterrupt, false);
  return found;
}

}  // namespace spile::engine::x86_64
