#pragma once
// The controller's half of the kernel's stacks: tells handlers in the kernel where its functions are (abi::KernelCodeTable), and
// turns addresses of records into text. Reads /proc/kallsyms, which takes some 0.1 s, when that is first needed, and anew when a
// module has come or gone. Thread rule: one thread.

#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "base/result.h"
#include "codegen/codegen.h"
#include "kernelinfo/code_map.h"
#include "runs/text/printf_text.h"

namespace spile::session {

class KernelStacks {
 public:
  // Writes what handlers need into the part of the arena that `layout` has for it; does nothing if it has none. needs:
  // sema::Program::needs. Errors: the kernel hides addresses, or has more symbols than the arena has room for.
  // arena must outlive this.
  Result<void> fill(std::span<uint8_t> arena, const codegen::ArenaLayout& layout, uint32_t needs);
  // Looks whether modules have come or gone, and gives handlers the names of new ones' functions; called some times a second.
  void renew();

  // Return the text of a kKernelBacktrace record with `count` addresses, and of a kKernelSymbols record: a line for each address,
  // abi::kMostFrames at most. payload: as read from the ring; it may be forged.
  std::string backtrace_text(size_t count, runs::PayloadReader& payload);
  std::string symbols_text(runs::PayloadReader& payload);

 private:
  struct Found {
    const kernelinfo::CodeMap* code = nullptr;  // null: no module has the address
    const kernelinfo::CodeMap::Function* function = nullptr;
    const kernelinfo::CodeMap::Module* module = nullptr;
  };

  void append_line(std::string& text, uint64_t address, uint64_t lookup);
  Found find(uint64_t address) const;
  bool is_of_kernel(uint64_t address) const;
  void look_again(uint64_t address);
  Result<void> read();
  uint64_t allocate(uint64_t bytes);
  uint64_t place_names();

  // The newest first: addresses of modules that are gone keep their names.
  std::deque<kernelinfo::CodeMap> codes_;
  std::string modules_;  // as they were when the newest was read
  int64_t looked_ns_ = 0;
  bool refused_ = false;  // symbols can't be read, and a warning has said so
  // The part of the arena that handlers have names in.
  std::span<uint8_t> arena_;
  uint64_t table_ = 0, next_ = 0,
           end_ = 0;  // offsets: of the abi::KernelCodeTable, of free memory, of its end; table_: 0: absent
  std::map<std::tuple<std::string, uint64_t, uint64_t>, uint64_t> names_;  // by a module and its place: offset of its names
  bool has_names_ = false, is_full_ = false;
};

}  // namespace spile::session
