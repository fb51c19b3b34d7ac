#include "engine/arch/x86_64/return_safety.h"

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr int kMostInstructions = 200;
constexpr int kMostJumps = 4;
constexpr uint64_t kChunk = 1024;

}  // namespace

std::string return_obstacle(Address entry, const TextSource& source) {
  std::span<const uint8_t> text = source(entry, kChunk);
  size_t at = 0;
  int64_t depth = 0;             // the return address lies at depth(%rsp)
  std::optional<int64_t> frame;  // and at *frame(%rbp)
  int jumps = 0;
  for (int i = 0; i < kMostInstructions && at < text.size(); i++) {
    auto use = decode_stack_use(text.subspan(at));
    if (!use) return "";
    if ((use->stack_operand && *use->stack_operand == depth) || (frame && use->frame_operand == *frame)) {
      return "it looks at its own return address";
    }
    if (use->unknown_change) return "";
    depth -= use->change;
    if (depth < 0) return "it takes its own return address off the stack";
    if (use->frame_set) frame = depth;
    if (use->frame_lost) frame.reset();
    const Instruction& instruction = use->instruction;
    if (instruction.flow == Flow::kLeaves || instruction.flow == Flow::kUnmovable) return "";
    at += instruction.length;
    if (instruction.flow != Flow::kJump) continue;
    // A tail jump, or one within the function: the stack is as it is either way.
    if (++jumps > kMostJumps) return "";
    entry = entry + static_cast<int64_t>(at) + instruction.relative;
    text = source(entry, kChunk);
    at = 0;
  }
  return "";
}

}  // namespace spile::engine::x86_64
