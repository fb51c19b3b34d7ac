#pragma once
// Variables of programs that gcc has optimized when they were linked (-flto). Each source file keeps a unit, which describes what
// the file declares; what became of it (code, addresses, registers) is described in units called "<artificial>", by entries that
// refer to those by DW_AT_abstract_origin, wherever the optimizer has put it.

#include <elfutils/libdw.h>

#include <optional>
#include <unordered_map>

#include "debuginfo/dwarf/dwarf_file.h"

namespace spile::debuginfo {

// File-scope variables by what describes them in their source's unit. One thread at a time.
class ConcreteVariables {
 public:
  explicit ConcreteVariables(DwarfFile& file) : file_(file) {}
  // Returns the entry that has the variable's place; nullopt: it is described nowhere else. Reads the outermost entries of all
  // artificial units at the first call.
  std::optional<Dwarf_Die> of(const Dwarf_Die& variable);

 private:
  void add_variables(Dwarf_Die& scope, int depth);

  DwarfFile& file_;
  bool is_read_ = false;
  std::unordered_map<void*, Dwarf_Die> known_;  // by Dwarf_Die::addr of what they refer to
};

// Returns the unit whose source declares the function, or whose call is inlined; nullopt: the unit that describes it does.
std::optional<DwarfFile::Unit> unit_of_source(Dwarf_Die function);

}  // namespace spile::debuginfo
