// A walk over the paths of a function. On each it is known where the return address lies: so far above the stack
// pointer, and above the frame pointer where the function has one. An instruction that reads there looks at it.
//
// Not followed are pointers: a function that computes where its return address lies, and reads it through a register.

#include "engine/arch/x86_64/return_safety.h"

#include <cstring>
#include <map>

#include "engine/arch/x86_64/decoder.h"
#include "engine/arch/x86_64/function_flow.h"

namespace spile::engine::x86_64 {
namespace {

constexpr int kMostInstructions = 3'000;
constexpr int kMostJumps = 4;  // into other functions, one behind the other
constexpr uint64_t kMostText = 65'536, kMostTextBehindJump = 1024;
constexpr int32_t kUnknownDepth = INT32_MIN;

constexpr const char* kLooks = "it looks at its own return address";
constexpr const char* kTakes = "it takes its own return address off the stack";
constexpr const char* kLetsLook = "it ends with a call of a function that looks at its return address (dlsym and the like)";
constexpr const char* kProfiled = "it is built with -pg, and mcount looks at its return address";

// Empty: unknown. The return address lies at *depth(%rsp) and *frame(%rbp).
struct StackState {
  std::optional<int64_t> depth, frame;
  std::optional<int64_t> limit;  // what depth is when a loop that probes the stack page by page has ended
  bool has_called = false;       // a call that does not return may have been passed, and all this be another path's
};

class Walk {
 public:
  Walk(const TextSource& source, const MemoryReader& read, const ReturnReaders& readers)
      : source_(source), read_(read), readers_(readers) {}

  std::string run(Address entry, const StackState& at_entry, int jumps);

 private:
  struct Function {
    Address entry;
    std::span<const uint8_t> text;
    std::vector<uint8_t> seen;
    std::vector<int32_t> depths;                // at instructions that have been seen
    std::map<size_t, StackState> waiting;       // by the offset at which a path goes on
    std::map<size_t, StackState> behind_calls;  // where no branch leads, perhaps
    std::optional<StackState> table;            // at a jump that may be through a table
    bool had_table = false;
    int jumps = 0;  // that have led here
  };
  std::string follow(Function& function, size_t at, StackState state);
  static std::string step(const StackUse& use, StackState& state);
  std::string branch(Function& function, const Instruction& instruction, size_t next, StackState& state);
  static std::optional<Address> slot(const Instruction& instruction, std::span<const uint8_t> bytes, Address next);

  const TextSource& source_;
  const MemoryReader& read_;
  const ReturnReaders& readers_;
  int left_ = kMostInstructions;
};

std::string Walk::run(Address entry, const StackState& at_entry, int jumps) {
  Function function;
  function.entry = entry;
  function.text = source_(entry, jumps == 0 ? kMostText : kMostTextBehindJump);
  function.jumps = jumps;
  function.seen.resize(function.text.size());
  function.depths.resize(function.text.size());
  function.waiting[0] = at_entry;
  for (;;) {
    while (!function.waiting.empty()) {
      auto [at, state] = *function.waiting.begin();
      function.waiting.erase(function.waiting.begin());
      if (at >= function.seen.size() || function.seen[at]) continue;
      if (std::string found = follow(function, at, state); !found.empty()) return found;
    }
    if (!function.behind_calls.empty()) {
      function.waiting.insert(function.behind_calls.extract(function.behind_calls.begin()));
      continue;
    }
    if (!function.table || jumps > 0) return "";
    FunctionFlow flow = analyze_function(function.text, entry, function.text.size(), read_);
    if (flow.table_jumps > 1) function.table->depth.reset();  // whose targets are they?
    for (uint32_t target : flow.cases) {
      if (!function.seen[target]) function.waiting[target] = *function.table;
    }
    function.table.reset();
    function.had_table = true;
    if (function.waiting.empty()) return "";
  }
}

std::string Walk::follow(Function& function, size_t at, StackState state) {
  while (at < function.text.size() && !function.seen[at]) {
    auto use = left_-- > 0 ? decode_stack_use(function.text.subspan(at)) : std::nullopt;
    if (!use) {
      function.seen[at] = true;
      return "";
    }
    const Instruction& instruction = use->instruction;
    function.depths[at] = state.depth ? static_cast<int32_t>(*state.depth) : kUnknownDepth;
    size_t next = at + instruction.length;
    for (size_t i = at; i < next && i < function.seen.size(); i++) function.seen[i] = true;
    Address behind = function.entry + static_cast<int64_t>(next);
    if (std::string found = step(*use, state); !found.empty()) return found;
    auto through = slot(instruction, function.text.subspan(at), behind);
    if (through && instruction.flow == Flow::kIndirectCall && readers_.callers.contains(through->value)) return kProfiled;
    if (through && instruction.indirect_jump && state.depth == 0 && readers_.own.contains(through->value)) return kLetsLook;
    switch (instruction.flow) {
      case Flow::kJump:
      case Flow::kConditional:
      case Flow::kCounted:
        if (std::string found = branch(function, instruction, next, state); !found.empty()) return found;
        if (instruction.flow == Flow::kJump) return "";
        break;
      case Flow::kCall:
        if (readers_.callers.contains((behind + instruction.relative).value)) return kProfiled;
        [[fallthrough]];
      case Flow::kIndirectCall:
        // Behind a call that does not return stands what a branch leads to, or another function.
        state.has_called = true;
        if (function.jumps == 0) function.behind_calls.try_emplace(next, state);
        return "";
      case Flow::kLeaves:
        if (instruction.indirect_jump && instruction.by_table && !function.had_table) function.table = state;
        return "";
      case Flow::kUnmovable: return "";
      default: break;
    }
    at = next;
  }
  return "";
}

// What the instruction does with the stack.
std::string Walk::step(const StackUse& use, StackState& state) {
  if ((use.stack_operand && state.depth == use.stack_operand) || (use.frame_operand && state.frame == use.frame_operand))
    return kLooks;
  if (use.limit && *use.limit < 0 && state.depth) state.limit = *state.depth - *use.limit;
  if (use.unknown_change) {
    state.depth = use.from_frame && state.frame ? std::optional(*state.frame - *use.from_frame) : std::nullopt;
  } else if (state.depth) {
    *state.depth -= use.change;
  }
  if (state.depth && *state.depth < 0) {
    if (!state.has_called) return kTakes;
    state.depth.reset();
  }
  if (use.frame_set) state.frame = state.depth;
  if (use.frame_lost) state.frame.reset();
  return "";
}

std::string Walk::branch(Function& function, const Instruction& instruction, size_t next, StackState& state) {
  uint64_t target = next + static_cast<uint64_t>(instruction.relative);
  if (target < function.text.size()) {
    bool loop = target < next && function.seen[target] && function.depths[target] != kUnknownDepth;
    // Each turn moves the stack pointer: where that ends is what lea has computed, if it is known at all.
    if (loop && state.depth && function.depths[target] != *state.depth) {
      state.depth = state.limit && *state.limit >= *state.depth ? state.limit : std::nullopt;
    }
    if (!function.seen[target]) function.waiting.try_emplace(target, state);
    return "";
  }
  // A tail call, or a part of the function elsewhere: the stack is as it is either way.
  Address to = function.entry + static_cast<int64_t>(target);
  if (state.depth == 0 && readers_.own.contains(to.value)) return kLetsLook;
  if (function.jumps == kMostJumps) return "";
  return run(to, state, function.jumps + 1);
}

// The word of memory, at a fixed place, through which it jumps or calls.
std::optional<Address> Walk::slot(const Instruction& instruction, std::span<const uint8_t> bytes, Address next) {
  bool indirect = instruction.flow == Flow::kIndirectCall || instruction.indirect_jump;
  if (!indirect || instruction.rip_displacement == 0) return {};
  int32_t distance;
  std::memcpy(&distance, &bytes[instruction.rip_displacement], sizeof distance);
  return next + distance;
}

}  // namespace

std::string return_obstacle(Address entry, const TextSource& source, const MemoryReader& read, const ReturnReaders& readers) {
  return Walk(source, read, readers).run(entry, {.depth = 0, .frame = {}, .limit = {}}, 0);
}

}  // namespace spile::engine::x86_64
