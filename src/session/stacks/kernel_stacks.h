#pragma once
// The controller's half of the kernel's stacks: tells handlers in the kernel where its functions are (abi::KernelCodeTable), and
// turns addresses of records into text. Reads /proc/kallsyms, which takes some 0.1 s, when that is first needed. Thread rule: one
// thread.

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "codegen/codegen.h"
#include "kernelinfo/code_map.h"
#include "runs/text/printf_text.h"

namespace spile::session {

class KernelStacks {
 public:
  // Writes what handlers need into the part of the arena that `layout` has for it; does nothing if it has none. needs:
  // sema::Program::needs. Errors: the kernel hides addresses, or has more symbols than the arena has room for.
  Result<void> fill(std::span<uint8_t> arena, const codegen::ArenaLayout& layout, uint32_t needs);

  // Return the text of a kKernelBacktrace record with `count` addresses, and of a kKernelSymbols record: a line for each address,
  // abi::kMostFrames at most. payload: as read from the ring; it may be forged.
  std::string backtrace_text(size_t count, runs::PayloadReader& payload);
  std::string symbols_text(runs::PayloadReader& payload);

 private:
  void append_line(std::string& text, uint64_t address, uint64_t lookup);
  void look_again(uint64_t address);
  Result<void> read();

  std::optional<kernelinfo::CodeMap> code_;
  std::string modules_;  // as they were when code_ was read
  int64_t looked_ns_ = 0;
  bool refused_ = false;  // code_ can't be read, and a warning has said so
};

}  // namespace spile::session
