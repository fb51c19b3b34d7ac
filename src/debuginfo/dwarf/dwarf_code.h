#pragma once
// Lines, inlined calls, labels and calls of a unit: what has an address inside functions (DWARF 5, sections 3.3.8, 3.4,
// 3.6 and 6.2).

#include <memory>
#include <optional>
#include <string>

#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/terms/code_place.h"
#include "debuginfo/terms/names.h"

namespace spile::debuginfo {

// Returns where a DIE says that it is declared; the file is "" where it doesn't.
SourcePlace declared_at(DwarfFile& file, Dwarf_Die& die, DwarfFile::Unit& unit);
// Returns the file address of the first instruction of a function or inlined call; nullopt: it has no code.
std::optional<uint64_t> entry_of(Dwarf_Die& die);
// Returns the code of a function or inlined call.
std::vector<CodeRange> code_of(Dwarf_Die& die);

// The functions and inlined calls of a unit, by the addresses of their code.
class CodeScopes {
 public:
  CodeScopes(DwarfFile& file, DwarfFile::Unit& unit);
  ~CodeScopes();
  // Returns the innermost function or inlined call that has code at pc; nullopt: none of this unit.
  std::optional<CodePlace> at(FileAddress pc) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Each appends to `places`, in the order in which the unit has them.
// wanted: of functions whose names match; null: of all.
void add_inlined_calls(DwarfFile& file, DwarfFile::Unit& unit, const NamePattern* wanted, CodePlaces& places);
// Appends the one inlined call at `call`, an offset in .debug_info, in the function at offset `function`; nothing if it has no
// code.
void add_inlined_call(DwarfFile& file, DwarfFile::Unit& unit, uint64_t call, uint64_t function, CodePlaces& places);
void add_labels(DwarfFile& file, DwarfFile::Unit& unit, CodePlaces& places);
// Appends rows of the line table that begin a statement, of source files that match the pattern; and lines of inlined calls that
// have no row, where the calls begin.
void add_statements(DwarfFile& file, DwarfFile::Unit& unit, const std::string& file_pattern, CodePlaces& places);
// Appends the calls that the function, or each one, makes to functions that are named. CodePlace::length is 0 where `address` is
// behind the call or jump, 1 where it is that of the instruction (tail calls by Clang); `source` is the callee's declaration.
// Unoptimized code has none.
void add_calls(DwarfFile& file, DwarfFile::Unit& unit, std::optional<FileAddress> function, CodePlaces& places);

}  // namespace spile::debuginfo
