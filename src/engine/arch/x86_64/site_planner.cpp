// Where the five bytes of a jump fit. Only 6 to 27 % of functions start with an instruction that long; for the rest
// two or three are displaced, and behind bodies that are shorter still there is nearly always padding up to the next
// multiple of 16.

#include "engine/arch/x86_64/site_planner.h"

#include <algorithm>
#include <array>

#include "engine/arch/x86_64/branch_scan.h"
#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kUnknownSizeScan = 256;
constexpr uint8_t kLongestPunned = 8;
constexpr uint8_t kPrefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0xf2, 0xf3};
constexpr uint8_t kBreakpoint = 0xcc;
// Opcodes that were taken out for 64-bit mode (Intel SDM volume 2, appendix A), without those that extensions have taken.
constexpr uint8_t kInvalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f,
                                0x37, 0x3f, 0x60, 0x61, 0xea, 0xce, 0x9a, 0x82};
// Of a near jump in 64-bit mode segment prefixes and REX have no effect; the processors disagree about 66.
constexpr uint8_t kLeads[] = {0,    0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x40, 0x41, 0x42, 0x43, 0x44,
                              0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f};

// How many bytes of padding stand at `at`: nops of any length and int3, up to the next multiple of 16, where another function may
// begin.
size_t padding_behind(std::span<const uint8_t> text, size_t at, Address entry) {
  uint64_t address = entry.value + at;
  size_t limit = std::min<uint64_t>(text.size(), at + ((kAlignment - address % kAlignment) % kAlignment));
  size_t end = at;
  while (end < limit) {
    auto instruction = decode(text.subspan(end));
    if (!instruction || !(instruction->nop || instruction->flow == Flow::kBreakpoint)) break;
    if (end + instruction->length > limit) break;
    end += instruction->length;
  }
  return end - at;
}

struct Window {
  size_t length = 0;
  bool leaves = false;      // the last instruction doesn't go on behind itself
  size_t inner_return = 0;  // a call returns to this offset, short of the jump's end
  const char* problem = nullptr;
};

// Counts whole instructions from the start of `text`, until they cover `wanted` bytes or control leaves.
Window measure(std::span<const uint8_t> text, size_t limit, size_t wanted) {
  Window window;
  while (window.length < wanted && !window.leaves) {
    auto instruction = decode(text.subspan(window.length, std::min<size_t>(text.size() - window.length, 15)));
    if (!instruction) {
      window.problem = "its first bytes are not valid instructions";
    } else if (window.length + instruction->length > limit) {
      window.problem = "too short for a jump";
    } else if (instruction->flow == Flow::kBreakpoint) {
      window.problem = "a breakpoint is set there";
    } else if (instruction->flow == Flow::kUnmovable || instruction->uses_stack_pointer) {
      window.problem = "its first instructions can't be moved";
    }
    if (window.problem) return window;
    window.length += instruction->length;
    bool call = instruction->flow == Flow::kCall || instruction->flow == Flow::kIndirectCall;
    if (call && window.length < wanted) window.inner_return = window.length;
    window.leaves = instruction->flow == Flow::kLeaves || instruction->flow == Flow::kJump;
  }
  return window;
}

// SitePlan::guarded for a jump over these instructions.
uint8_t guarded_bytes(std::span<const uint8_t> text) {
  uint8_t guarded = 0;
  for (size_t at = 0; at < kNearJump && at < text.size();) {
    auto instruction = decode(text.subspan(at, std::min<size_t>(text.size() - at, 15)));
    if (!instruction) break;
    const bool is_prefixed =
        std::ranges::find(kPrefixes, text[at]) != std::end(kPrefixes) || text[at] >> 4 == 4;  // 40 to 4f: REX
    if (at == 0 && is_prefixed && instruction->length > 1) guarded |= 1;
    at += instruction->length;
    if (at < kNearJump) guarded |= static_cast<uint8_t>(1 << (at - 1));
  }
  return guarded;
}

// Plans a jump of five bytes at plan.begin. Returns why it does not fit, or nullptr.
const char* plan_near_jump(std::span<const uint8_t> text, size_t limit, uint64_t size, SitePlan& plan) {
  Window window = measure(text, limit, kNearJump);
  if (window.problem) return window.problem;
  if (window.inner_return != 0) return "a call within its first 5 bytes would return into the jump";
  plan.displaced = window.length;
  plan.falls_through = !window.leaves;
  if (window.length < kNearJump) {
    // Code behind the known end belongs to someone else, unless it is padding. Code within the function that control
    // doesn't reach from above is a branch target.
    if (size != 0 && window.length < size) return "its code continues within the jump's 5 bytes";
    size_t padding = padding_behind(text, window.length, plan.begin);
    if (window.length + padding < kNearJump) return "too short for a jump, and no padding behind it";
    window.length = kNearJump;
  }
  size_t scanned = size == 0 ? std::min<uint64_t>(text.size(), kUnknownSizeScan) : limit;
  if (branches_into(text.first(scanned), 1, kNearJump - 1)) return "a branch leads into its first 5 bytes";
  plan.mechanism = Mechanism::kJump;
  plan.window = window.length;
  plan.overwritten = kNearJump;
  plan.guarded = guarded_bytes(text);
  return nullptr;
}

// Plans a short jump at plan.begin, to a relay of five bytes in the padding behind the function.
bool plan_short_jump(std::span<const uint8_t> text, uint64_t size, SitePlan& plan) {
  constexpr uint64_t kShortReach = 127 + kShortJump;
  if (size < kShortJump || size > kShortReach || size >= text.size()) return false;
  if (padding_behind(text, size, plan.begin) < kNearJump) return false;
  Window window = measure(text, size, kShortJump);
  if (window.problem || window.inner_return != 0 || window.length < kShortJump) return false;
  if (branches_into(text.first(size), 1, kShortJump - 1)) return false;
  plan.mechanism = Mechanism::kShortJump;
  plan.window = plan.displaced = window.length;
  plan.falls_through = !window.leaves;
  plan.overwritten = kShortJump;
  plan.relay = plan.begin + static_cast<int64_t>(size);
  return true;
}

}  // namespace

SitePlan plan_entry(std::span<const uint8_t> text, Address entry, uint64_t size) {
  if (uint64_t mark = entry_mark(size == 0 ? text : text.first(std::min<uint64_t>(size, text.size()))); mark != 0) {
    if (size != 0 && size <= mark) return SitePlan::refused("too short for a jump");
    text = text.subspan(mark);
    entry = entry + static_cast<int64_t>(mark);
    if (size != 0) size -= mark;
  }
  size_t limit = size == 0 ? text.size() : std::min<uint64_t>(size, text.size());

  SitePlan plan;
  plan.begin = entry;
  plan.overwritten = kNearJump;
  if (auto first = decode(text); first && first->nop && first->length >= kNearJump && first->length <= limit) {
    plan.mechanism = Mechanism::kNop;
    plan.window = first->length;
    return plan;
  }

  if (const char* problem = plan_near_jump(text, limit, size, plan)) {
    if (!plan_short_jump(text, size, plan)) return SitePlan::refused(problem);
  }
  return plan;
}

SitePlan plan_instruction(std::span<const uint8_t> text, Address at, uint64_t left, const FunctionFlow* flow) {
  auto first = decode(text);
  if (!first) return SitePlan::refused("its bytes are not a valid instruction");
  SitePlan plan;
  plan.begin = at;
  plan.overwritten = kNearJump;
  if (first->nop && first->length >= kNearJump) {
    plan.mechanism = Mechanism::kNop;
    plan.window = first->length;
    return plan;
  }
  size_t limit = left == 0 ? text.size() : std::min<uint64_t>(left, text.size());
  Window window = measure(text, limit, kNearJump);
  if (window.problem) return SitePlan::refused(window.problem);
  if (window.inner_return != 0) return SitePlan::refused("a call within its first 5 bytes would return into the jump");
  plan.displaced = window.length;
  if (window.length < kNearJump) {
    if (left == 0 || window.length < left) return SitePlan::refused("its code continues within the jump's 5 bytes");
    if (window.length + padding_behind(text, window.length, at) < kNearJump) {
      return SitePlan::refused("too short for a jump, and no padding behind it");
    }
    window.length = kNearJump;
  }
  if (first->length < kNearJump) {
    if (!flow) return SitePlan::refused("shorter than a jump, and the code around it is unknown");
    uint64_t begin = static_cast<uint64_t>(at - flow->entry);
    if (!flow->known) return SitePlan::refused("a jump table may lead into its first 5 bytes");
    if (flow->leads_into(begin + 1, begin + kNearJump - 1)) return SitePlan::refused("a branch leads into its first 5 bytes");
  }
  plan.mechanism = Mechanism::kJump;
  plan.window = window.length;
  plan.falls_through = !window.leaves;
  plan.guarded = guarded_bytes(text);
  return plan;
}

bool relay_nearby(SitePlan& plan, Address relay) {
  int64_t distance = relay - (plan.begin + kShortJump);
  if (plan.window < kShortJump || distance != static_cast<int8_t>(distance)) return false;
  plan.mechanism = Mechanism::kShortJump;
  plan.overwritten = kShortJump;
  plan.relay = relay;
  return true;
}

void relay_by_next_byte(SitePlan& plan, uint8_t second) {
  plan.mechanism = Mechanism::kShortJump;
  plan.overwritten = 1;
  plan.relay = plan.begin + kShortJump + static_cast<int8_t>(second);
}

SitePlan plan_displacement(std::span<const uint8_t> text, Address at, uint64_t left, uint8_t room) {
  Window window = measure(text, std::min<uint64_t>(left, text.size()), room);
  if (window.problem) return SitePlan::refused(window.problem);
  if (window.inner_return != 0) return SitePlan::refused("a call would return into it");
  SitePlan plan;
  plan.begin = at;
  plan.displaced = static_cast<uint8_t>(window.length);
  if (window.length < room) {
    bool ends = window.leaves || window.length == left;
    if (!ends || window.length + padding_behind(text, window.length, at) < room) {
      return SitePlan::refused("its code continues within the needed room");
    }
    window.length = room;
  }
  plan.mechanism = Mechanism::kJump;
  plan.window = static_cast<uint8_t>(window.length);
  plan.overwritten = kNearJump;
  plan.falls_through = !window.leaves;
  return plan;
}

std::span<const uint8_t> leads() { return kLeads; }
std::span<const uint8_t> invalid_bytes() { return kInvalid; }

SitePlan plan_single(std::span<const uint8_t> text, Address at, uint64_t most) {
  Window window = measure(text, text.size(), 1);
  if (window.problem) return SitePlan::refused(window.problem);
  SitePlan plan;
  plan.begin = at;
  plan.window = plan.displaced = static_cast<uint8_t>(window.length);
  plan.falls_through = !window.leaves;
  for (uint8_t prefixes = 0; prefixes < window.length; prefixes++) {
    uint8_t end = static_cast<uint8_t>(prefixes + kNearJump);
    if (end > most || end > text.size() || end > kLongestPunned) break;
    // The displacement's lowest bytes lie in the instruction and can be chosen.
    int free_bytes = std::min(static_cast<int>(window.length) - prefixes - 1, 4);
    uint32_t fixed = 0;
    bool is_fixed = true;  // another tracer's breakpoint may go, and its byte be another one
    for (int i = free_bytes; i < 4; i++) {
      const uint8_t byte = text[static_cast<size_t>(prefixes + 1 + i)];
      is_fixed = is_fixed && byte != kBreakpoint;
      fixed |= uint32_t{byte} << 8 * i;
    }
    if (!is_fixed) continue;
    if (free_bytes == 4) fixed = uint32_t{1} << 31;
    int64_t distance = static_cast<int32_t>(fixed);
    if (distance < 0 && at.value + end < static_cast<uint64_t>(-distance)) continue;
    plan.puns.push_back({prefixes, end, at + end + distance, uint64_t{1} << 8 * free_bytes});
  }
  plan.mechanism = plan.puns.empty() ? Mechanism::kInt3 : Mechanism::kPunned;
  plan.overwritten = plan.puns.empty() ? 1 : plan.puns.front().overwritten;
  return plan;
}

// LLVM's XRay has 11 bytes at a function's begin (compiler-rt/lib/xray/xray_x86_64.cpp): a jump over a nop, which it replaces by
// a call when it is turned on:
//
//     eb 09                              jmp  behind
//     66 0f 1f 84 00 00 02 00 00         nopw 0x200(%rax,%rax)
static uint64_t xray_sled(std::span<const uint8_t> text) {
  constexpr std::array<uint8_t, 11> kSled = {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0x02, 0, 0};
  return text.size() >= kSled.size() && std::equal(kSled.begin(), kSled.end(), text.begin()) ? kSled.size() : 0;
}

uint64_t entry_mark(std::span<const uint8_t> function) {
  auto first = decode(function);
  uint64_t mark = first && first->end_branch ? first->length : 0;
  if (mark < function.size()) mark += xray_sled(function.subspan(mark));
  // A loop may lead to what is behind it.
  return mark != 0 && mark < function.size() && branches_into(function.subspan(mark), 0, 0) ? 0 : mark;
}

}  // namespace spile::engine::x86_64
