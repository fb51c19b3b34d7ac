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

}  // namespace

std::vector<FunctionExit> find_exits(std::span<const uint8_t> function) {
  std::vector<FunctionExit> exits;
  std::vector<size_t> run;  // instructions that control goes straight through
  bool lands = false;
  for (size_t at = 0; at < function.size();) {
    auto instruction = decode(function.subspan(at));
    if (!instruction) return exits;  // data: what follows may be no code
    run.push_back(at);
    if (sets_stack_from_rcx(function.subspan(at))) {
      exits.push_back({at, true});
      lands = true;
    }
    size_t end = at + instruction->length;
    if (instruction->flow == Flow::kLeaves && !instruction->indirect_jump && !lands) {
      bool returns = function[at] == 0xc3 || function[at] == 0xc2 || (function[at] == 0xf3 && function[end - 1] == 0xc3);
      while (run.size() > 1 && end - run.back() < kJump) run.pop_back();
      if (returns) exits.push_back({run.back(), false});
    }
    if (instruction->flow != Flow::kNext) {
      run.clear();
      lands = false;
    }
    at = end;
  }
  return exits;
}

}  // namespace spile::engine::x86_64
