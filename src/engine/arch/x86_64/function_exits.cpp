// A `ret` is one byte, too few for a jump. So the exit is put at an instruction before it, from which control can only go
// straight on to the `ret`. gcc's __builtin_eh_return (i386.md, eh_return_internal) ends a function elsewhere than at its
// caller: it computes the new stack pointer in rcx, where the address to go on at lies, then
//
//     48 89 cc    mov %rcx,%rsp
//     59          pop %rcx          or: ret
//     ff e1       jmp *%rcx

#include "engine/arch/x86_64/function_exits.h"

#include <cstring>

#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

constexpr size_t kJump = 5;

bool sets_stack_from_rcx(std::span<const uint8_t> bytes) {
  constexpr uint8_t kStore[] = {0x48, 0x89, 0xcc}, kLoad[] = {0x48, 0x8b, 0xe1};
  return bytes.size() >= 3 && (memcmp(bytes.data(), kStore, 3) == 0 || memcmp(bytes.data(), kLoad, 3) == 0);
}

bool is_return(std::span<const uint8_t> instruction) {
  return instruction[0] == 0xc3 || instruction[0] == 0xc2 || (instruction[0] == 0xf3 && instruction.back() == 0xc3);
}

}  // namespace

std::vector<FunctionExit> find_exits(std::span<const uint8_t> function) {
  std::vector<FunctionExit> exits;
  std::vector<size_t> run;  // instructions that control goes straight through
  bool transfers = false;
  for (size_t at = 0; at < function.size();) {
    auto instruction = decode(function.subspan(at));
    if (!instruction) return exits;  // data: what follows may be no code
    run.push_back(at);
    if (sets_stack_from_rcx(function.subspan(at))) {
      exits.push_back({at, true});
      transfers = true;
    }
    size_t end = at + instruction->length;
    if (instruction->flow == Flow::kLeaves && !instruction->indirect_jump && !transfers) {
      while (run.size() > 1 && end - run.back() < kJump) run.pop_back();
      if (is_return(function.subspan(at, instruction->length))) exits.push_back({run.back(), false});
    }
    if (instruction->flow != Flow::kNext) {
      run.clear();
      transfers = false;
    }
    at = end;
  }
  return exits;
}

FunctionReturns find_returns(std::span<const uint8_t> function, const FunctionFlow& flow) {
  FunctionReturns found;
  std::vector<size_t> run;  // as above, and no branch leads behind the first
  auto is_target = [&](size_t at) { return !flow.known || flow.leads_into(at, at); };
  for (size_t at = 0; at < function.size();) {
    auto instruction = decode(function.subspan(at));
    if (!instruction) return {{}, "there is data in its code"};
    if (is_target(at)) run.clear();
    run.push_back(at);
    size_t end = at + instruction->length;
    bool direct =
        instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional || instruction->flow == Flow::kCounted;
    bool table = instruction->indirect_jump && instruction->by_table && flow.known;
    if ((direct && end + static_cast<uint64_t>(instruction->relative) >= function.size()) ||
        (instruction->indirect_jump && !table)) {
      return {{}, "it ends by jumping to another function, which returns in its place"};
    }
    if (instruction->flow == Flow::kLeaves && is_return(function.subspan(at, instruction->length))) {
      uint64_t first = run.front();
      while (run.size() > 1 && end - run.back() < kJump) run.pop_back();
      found.sites.push_back({at, run.back(), end, first});
    }
    if (instruction->flow != Flow::kNext) run.clear();
    at = end;
  }
  return found;
}

// cmd/internal/obj/x86, stacksplit(): in a function with a small frame, and with a larger one,
//
//     49 3b 66 10    cmp  0x10(%r14),%rsp           4c 8d 64 24 e8    lea  -0x18(%rsp),%r12
//     76 xx          jbe  more                      4d 3b 66 10       cmp  0x10(%r14),%r12
//                                                   76 xx             jbe  more
//     ...
//     more: (arguments to the stack) ; call runtime.morestack ; (arguments from there) ; jmp entry
//
// before Go 1.17 with the goroutine in rcx. With very large frames a jb to the same place comes first.
uint64_t behind_stack_check(std::span<const uint8_t> function) {
  constexpr int kMostBefore = 10, kMostInBlock = 64;
  uint64_t behind = 0;
  size_t at = 0;
  for (int n = 0; n < kMostBefore && at < function.size(); n++) {
    auto instruction = decode(function.subspan(at));
    if (!instruction) break;
    at += instruction->length;
    if (instruction->flow == Flow::kNext) continue;
    if (instruction->flow != Flow::kConditional || instruction->relative < 0) break;
    bool calls = false, again = false;
    uint64_t more = at + static_cast<uint64_t>(instruction->relative);
    for (int m = 0; m < kMostInBlock && more < function.size(); m++) {
      auto inner = decode(function.subspan(more));
      if (!inner) break;
      more += inner->length;
      if (inner->flow == Flow::kCall) calls = true;
      if (inner->flow == Flow::kNext || inner->flow == Flow::kCall) continue;
      again = inner->flow == Flow::kJump && more + static_cast<uint64_t>(inner->relative) == 0;
      break;
    }
    if (!calls || !again) break;
    behind = at;
  }
  return behind;
}

// Of a program at a fixed address, and of a position-independent one:
//
//     64 4c 8b 34 25 f8 ff ff ff    mov %fs:0xfffffffffffffff8, %r14
//     49 c7 c6 f8 ff ff ff          mov $0xfffffffffffffff8, %r14      (or another register)
//     64 4d 8b 36                   mov %fs:(%r14), %r14
int32_t find_goroutine_offset(std::span<const uint8_t> text) {
  constexpr size_t kLength = 10;
  auto offset_at = [&](size_t at) {
    int32_t offset;
    memcpy(&offset, &text[at], sizeof offset);
    return offset < 0 && offset % 8 == 0 ? offset : 0;
  };
  for (size_t at = 0; at + kLength <= text.size(); at++) {
    const uint8_t* code = &text[at];
    int32_t offset = 0;
    if (code[0] == 0x64 && (code[1] & 0xfb) == 0x48 && code[2] == 0x8b && (code[3] & 0xc7) == 0x04 && code[4] == 0x25) {
      offset = offset_at(at + 5);
    } else if ((code[0] & 0xfe) == 0x48 && code[1] == 0xc7 && (code[2] & 0xf8) == 0xc0 && code[7] == 0x64 &&
               (code[8] & 0xf8) == 0x48 && code[9] == 0x8b) {
      offset = offset_at(at + 3);
    }
    if (offset != 0) return offset;
  }
  return 0;
}

}  // namespace spile::engine::x86_64
