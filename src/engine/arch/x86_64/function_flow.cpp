// Direct branches say themselves where they lead. A switch jumps through a table: of 32-bit distances from the table's begin
// (position-independent code) or of 64-bit addresses; its begin is the operand of an instruction before the jump. Rather
// than to follow registers, everything that the function addresses relative to rip, or absolutely with an index, is taken
// for a table, and each word of it that would lead into the function for an entry. What is no table leads there by accident
// at most, and one target too many costs only a better patch.

#include "engine/arch/x86_64/function_flow.h"

#include <algorithm>
#include <cstring>

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kMostTable = 8192;
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kLeastIsland = 5;

struct Tables {
  std::vector<Address> bases;
};

void add_table_targets(FunctionFlow& flow, const Tables& tables, const MemoryReader& read) {
  bool found = false;
  auto add = [&](uint64_t target) {
    if (target - flow.entry.value >= flow.size) return;
    flow.cases.push_back(static_cast<uint32_t>(target - flow.entry.value));
    found = true;
  };
  std::vector<uint8_t> bytes(kMostTable);
  for (Address base : tables.bases) {
    size_t have = read(base, bytes);
    for (size_t at = 0; at + 4 <= have; at += 4) {
      int32_t distance;
      std::memcpy(&distance, &bytes[at], 4);
      add(base.value + static_cast<uint64_t>(static_cast<int64_t>(distance)));
    }
    for (size_t at = 0; at + 8 <= have; at += 8) {
      uint64_t target;
      std::memcpy(&target, &bytes[at], 8);
      add(target);
    }
  }
  flow.targets.insert(flow.targets.end(), flow.cases.begin(), flow.cases.end());
  flow.known = found;
}

// Nops behind an instruction that doesn't go on, up to a multiple of 16: nobody comes there.
void find_island(FunctionFlow& flow, std::span<const uint8_t> text, size_t at) {
  uint64_t rest = (kAlignment - (flow.entry.value + at) % kAlignment) % kAlignment;
  size_t end = at, limit = std::min<uint64_t>(at + rest, text.size());
  while (end < limit) {
    auto instruction = decode(text.subspan(end));
    if (!instruction || !(instruction->nop || instruction->flow == Flow::kBreakpoint)) break;
    end += instruction->length;
  }
  if (end == limit && end - at == rest && rest >= kLeastIsland) {
    flow.islands.push_back({flow.entry + static_cast<int64_t>(at), rest});
  }
}

}  // namespace

FunctionFlow analyze_function(std::span<const uint8_t> text, Address entry, uint64_t size, const MemoryReader& read) {
  FunctionFlow flow;
  flow.entry = entry;
  flow.size = std::min<uint64_t>(size, text.size());
  Tables tables;
  // Where another tracer's breakpoint stands within the code, what follows may be the rest of an instruction.
  // (Go pads behind a call that doesn't return.)
  bool goes_on = true, may_be_padding = false, has_breakpoint = false;
  for (size_t at = 0; at < flow.size;) {
    auto instruction = decode(text.subspan(at));
    if (!instruction) {
      flow.known = false;  // data between code: who knows what else
      at++;
      continue;
    }
    size_t next = at + instruction->length;
    const bool is_padding = instruction->nop || instruction->flow == Flow::kBreakpoint;
    may_be_padding = may_be_padding || (goes_on && instruction->flow == Flow::kBreakpoint);
    has_breakpoint = has_breakpoint || (may_be_padding && !is_padding);
    if (!is_padding) goes_on = instruction->flow != Flow::kLeaves && instruction->flow != Flow::kJump;
    bool direct = instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional ||
                  instruction->flow == Flow::kCounted || instruction->flow == Flow::kCall;
    uint64_t target = next + static_cast<uint64_t>(instruction->relative);
    if (direct && target < flow.size) flow.targets.push_back(static_cast<uint32_t>(target));
    if (instruction->rip_displacement != 0) {
      int32_t distance;
      std::memcpy(&distance, &text[at + instruction->rip_displacement], 4);
      tables.bases.push_back(entry + static_cast<int64_t>(next) + distance);
    }
    if (instruction->absolute_displacement != 0) {
      int32_t base;
      std::memcpy(&base, &text[at + instruction->absolute_displacement], 4);
      tables.bases.push_back(Address(static_cast<uint64_t>(static_cast<int64_t>(base))));
    }
    flow.table_jumps += instruction->indirect_jump && instruction->by_table;
    if (instruction->flow == Flow::kLeaves || instruction->flow == Flow::kJump) find_island(flow, text, next);
    at = next;
  }
  flow.by_table = flow.table_jumps != 0;
  if (flow.by_table) add_table_targets(flow, tables, read);
  if (has_breakpoint) {
    flow.known = false;
    flow.islands.clear();
  }
  std::sort(flow.targets.begin(), flow.targets.end());
  flow.targets.erase(std::unique(flow.targets.begin(), flow.targets.end()), flow.targets.end());
  return flow;
}

}  // namespace spile::engine::x86_64
