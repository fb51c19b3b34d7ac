#pragma once
// Where functions lie, as a module's unwind information says it in the target's memory: .eh_frame_hdr's sorted table (Linux
// Standard Base, "Exception Frames") in the forms that linkers write; in static programs, which lack that table, the frame
// descriptions themselves. Go's compiler writes a table of its own, .gopclntab (from Go 1.18 on; in the sources
// src/internal/abi/symtab.go, src/runtime/symtab.go). A module with none of these tables, or with tables of another form, has no
// functions here.
//
// Refers to the memory that it was made with, which it reads when it is asked, and which must outlive it. Keeps what it has read,
// also when it is const, so only one thread may use it. Addresses are run-time addresses.

#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/process/target_memory.h"
#include "engine/terms/module.h"

namespace spile::engine {

class FunctionTable {
 public:
  // Reads the table of a module that is loaded in this memory. What can't be read leaves it without functions.
  FunctionTable(const TargetMemory& memory, const Module& module);
  // [begin, end) of the last function that begins at `at` or before. `at` may lie behind its end. Empty: no function begins
  // there, or its description can't be read.
  std::optional<std::pair<Address, Address>> before(Address at) const;
  // The function that has the byte at `at`, and where the next one begins (at its end, if none does). Empty: no function has it.
  struct Function {
    Address begin, end, next;
  };
  std::optional<Function> containing(Address at) const;

 private:
  void find_descriptions(Address at, const std::vector<uint8_t>& bytes);
  void find_go_functions(const Module& module, Address at, const std::vector<uint8_t>& bytes);

  struct Entry {
    int32_t function, description;  // from the table's begin; or one of the constants
  };
  // Descriptions of neighboring functions lie near each other.
  template <typename T>
  std::optional<T> read_near(Address at) const;

  const TargetMemory& memory_;
  Address table_;
  std::vector<Entry> entries_;
  mutable std::map<uint64_t, std::vector<uint8_t>> pieces_;  // by address / kPiece
};

}  // namespace spile::engine
