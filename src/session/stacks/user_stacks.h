#pragma once
// The controller's half of user-space stacks: fills the last part of the arena with unwind rules and symbols of all
// modules that traced processes map (abi/stack_tables.h), and turns the addresses of records into text. What a process
// had mapped is remembered, so its stacks can be named after it has ended. Thread rule: one thread.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi/stack_tables.h"
#include "base/unique_fd.h"
#include "codegen/codegen.h"
#include "debuginfo/debuginfo.h"
#include "engine/engine.h"
#include "runs/text/printf_text.h"
#include "session/stacks/jit_names.h"

namespace spile::session {

class UserStacks {
 public:
  // arena: gets the tables, in the part that `layout` has for them; must outlive this. kernel: so does the arena of handlers in
  // the kernel, at the same offsets, where it is another one and they walk stacks of processes; empty else. needs:
  // sema::Program::needs.
  UserStacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, const codegen::ArenaLayout& layout, uint32_t needs);

  // Writes tables for these modules of a process and for its vdso. Returns the offset of its map in the arena, for
  // ProcessTable::module_map; processes with the same modules at the same addresses get the same map. 0: the arena has no room
  // left.
  uint64_t describe(pid_t pid, std::span<const engine::Module> modules);

  // Return the text of a kBacktrace record with `count` addresses, and of a kSymbols record: a line for each address,
  // abi::kMostFrames at most. style: abi::SymbolStyle. payload: as read from the ring; it may be forged.
  std::string backtrace_text(uint32_t style, size_t count, runs::PayloadReader& payload);
  std::string symbols_text(uint32_t style, runs::PayloadReader& payload);
  // Returns the text of a stack of a process with this map (describe()). addresses: as in a kBacktrace record.
  std::string text_of(uint32_t style, uint64_t map, std::span<const uint64_t> addresses);
  // Returns warnings about files with names of JIT code.
  std::vector<std::string> losses() const { return jit_names_.losses(); }

 private:
  struct LoadedFile {
    std::shared_ptr<debuginfo::Module> module;  // null: can't be read
    std::string path;
    uint64_t table = 0;
  };
  struct MappedFile {
    abi::StackModule place;
    const LoadedFile* file;
  };
  struct Name {
    std::string function;  // "": unknown
    uint64_t begin = 0, size = 0;
  };
  uint64_t map_of(pid_t pid, std::span<const engine::Module> modules);
  const LoadedFile& file_of(pid_t pid, const engine::Module& module);
  std::string_view jit_name_at(uint64_t map, uint64_t address);
  const LoadedFile* vdso_file();
  void add_vdso(pid_t pid, std::vector<MappedFile>& mapped);
  uint64_t write_table(const LoadedFile& file);
  // Puts these bytes into the arenas. Returns their offset; 0: no room is left, which is reported once.
  uint64_t put(std::span<const uint8_t> bytes);
  void append_line(std::string& text, uint32_t style, uint64_t map, uint64_t address, uint64_t lookup);
  const Name& name_at(const LoadedFile& file, uint64_t file_address);

  std::span<uint8_t> arena_, kernel_;
  uint64_t next_, end_;
  uint32_t needs_;
  bool warned_full_ = false;
  std::map<std::tuple<uint64_t, uint64_t, std::string>, LoadedFile> files_;  // by device, inode and path
  const LoadedFile too_many_{};                                              // stands for those beyond the limit: it has no table
  UniqueFd vdso_fd_;
  std::unique_ptr<LoadedFile> vdso_;
  std::map<std::vector<uint64_t>, uint64_t> maps_by_content_;
  std::map<uint64_t, std::vector<MappedFile>> maps_;  // by offset
  std::map<std::pair<const LoadedFile*, uint64_t>, Name> names_;
  // Code in no file: of the only process that had the map. 0: several had it, and each has its own names.
  std::map<uint64_t, pid_t> process_of_map_;
  JitNames jit_names_;
};

}  // namespace spile::session
